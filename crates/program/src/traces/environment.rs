//! Reads the variables of OpenTelemetry that decide whether spans are exported, where to, and how many.
//!
//! The library ignores some of the variables, and uses the default instead of a value that it does not know. So
//! the variables are checked here, as OpenTelemetry defines them. A value that is not valid is refused with an
//! error that names the variable.

use super::endpoint::{Endpoint, StartError};
use std::env;

const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
const PROTOCOLS: [&str; 2] = [
    "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
    "OTEL_EXPORTER_OTLP_PROTOCOL",
];
const SDK_DISABLED: &str = "OTEL_SDK_DISABLED";
const EXPORTER: &str = "OTEL_TRACES_EXPORTER";
const SAMPLER: &str = "OTEL_TRACES_SAMPLER";
const SAMPLER_ARGUMENT: &str = "OTEL_TRACES_SAMPLER_ARG";

/// Returns the URL of the collector; `None` if no traces are exported. It is the URL of the setting, unless
/// `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` names another one for traces. Fails if a variable has a value that is
/// not valid or not supported.
pub(crate) fn collector(setting: Option<&Endpoint>) -> Result<Option<String>, StartError> {
    // A value that is not UTF-8 is converted and then refused. It must not count as unset.
    collector_in(setting, |name| {
        let value = env::var_os(name).unwrap_or_default();
        value.to_string_lossy().into_owned()
    })
}

/// Does the work of [`collector`]. `variable` returns the value of a variable, and empty text if the variable
/// is not set.
fn collector_in(
    setting: Option<&Endpoint>,
    variable: impl Fn(&'static str) -> String,
) -> Result<Option<String>, StartError> {
    let invalid = |variable, problem: &str| StartError {
        variable,
        problem: problem.to_owned(),
    };
    let traces_endpoint: Endpoint = variable(ENDPOINT)
        .parse()
        .map_err(|problem| invalid(ENDPOINT, problem))?;
    let general = setting.and_then(|endpoint| endpoint.url.clone());
    let Some(url) = traces_endpoint.url.or(general) else {
        return Ok(None);
    };
    match variable(SDK_DISABLED).to_ascii_lowercase().as_str() {
        "" | "false" => {}
        "true" => return Ok(None),
        _ => return Err(invalid(SDK_DISABLED, "must be true, false or unset")),
    }
    match variable(EXPORTER).as_str() {
        "" | "otlp" => {}
        "none" => return Ok(None),
        _ => return Err(invalid(EXPORTER, "must be otlp, none or unset")),
    }
    for name in PROTOCOLS {
        if !["", "grpc"].contains(&variable(name).as_str()) {
            return Err(invalid(name, "must be grpc or unset"));
        }
    }
    match variable(SAMPLER).as_str() {
        "" | "always_on" | "always_off" | "parentbased_always_on" | "parentbased_always_off" => {}
        "traceidratio" | "parentbased_traceidratio" => {
            let ratio: Result<f64, _> = variable(SAMPLER_ARGUMENT).parse();
            if !ratio.is_ok_and(|ratio| (0.0..=1.0).contains(&ratio)) {
                return Err(invalid(SAMPLER_ARGUMENT, "must be a number from 0 to 1"));
            }
        }
        _ => {
            let known = "must be always_on, always_off, traceidratio, parentbased_always_on, \
                         parentbased_always_off or parentbased_traceidratio";
            return Err(invalid(SAMPLER, known));
        }
    }
    Ok(Some(url))
}

#[cfg(test)]
mod tests {
    use super::{Endpoint, collector_in};

    const URL: &str = "http://127.0.0.1:4317";
    const OTHER: &str = "http://127.0.0.1:4318";

    /// Returns the collector, or the variable that is refused.
    fn collector(url: &str, set: &[(&str, &str)]) -> Result<Option<String>, &'static str> {
        let setting: Endpoint = url.parse().expect("a URL or none");
        let variable = |name| {
            let value = set.iter().find(|(known, _)| *known == name);
            value.map_or_else(String::new, |(_, value)| (*value).to_owned())
        };
        collector_in(Some(&setting), variable).map_err(|error| error.variable)
    }

    #[test]
    fn variables_of_open_telemetry_turn_traces_on_and_off() {
        let traces_endpoint = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", OTHER);
        for (url, set, expected) in [
            ("", &[][..], None),
            (URL, &[], Some(URL)),
            ("", &[traces_endpoint], Some(OTHER)),
            (URL, &[traces_endpoint], Some(OTHER)),
            (
                URL,
                &[("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "")],
                Some(URL),
            ),
            (URL, &[("OTEL_SDK_DISABLED", "true")], None),
            (URL, &[("OTEL_SDK_DISABLED", "TRUE")], None),
            (URL, &[traces_endpoint, ("OTEL_SDK_DISABLED", "true")], None),
            (URL, &[("OTEL_SDK_DISABLED", "false")], Some(URL)),
            (URL, &[("OTEL_SDK_DISABLED", "")], Some(URL)),
            (URL, &[("OTEL_TRACES_EXPORTER", "none")], None),
            (URL, &[("OTEL_TRACES_EXPORTER", "otlp")], Some(URL)),
            (URL, &[("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")], Some(URL)),
            (URL, &[("OTEL_TRACES_SAMPLER", "always_off")], Some(URL)),
            (
                URL,
                &[
                    ("OTEL_TRACES_SAMPLER", "parentbased_traceidratio"),
                    ("OTEL_TRACES_SAMPLER_ARG", "0.01"),
                ],
                Some(URL),
            ),
            // Without a collector, the other variables have no effect.
            ("", &[("OTEL_TRACES_SAMPLER", "xray")], None),
        ] {
            assert_eq!(
                collector(url, set),
                Ok(expected.map(str::to_owned)),
                "{url} {set:?}"
            );
        }
    }

    #[test]
    fn values_that_open_telemetry_does_not_know_are_refused_by_their_names() {
        for (name, value) in [
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "collector:4317"),
            (
                "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
                "https://127.0.0.1:4317",
            ),
            ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/protobuf"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"),
            ("OTEL_SDK_DISABLED", "1"),
            ("OTEL_SDK_DISABLED", "yes"),
            ("OTEL_TRACES_EXPORTER", "zipkin"),
            ("OTEL_TRACES_EXPORTER", "otlp,console"),
            ("OTEL_TRACES_SAMPLER", "jaeger_remote"),
            ("OTEL_TRACES_SAMPLER", "ALWAYS_ON"),
        ] {
            assert_eq!(collector(URL, &[(name, value)]), Err(name), "{value}");
        }
        let sampler = ("OTEL_TRACES_SAMPLER", "traceidratio");
        for argument in ["", "x", "-0.1", "1.1", "NaN", "1%"] {
            let set = [sampler, ("OTEL_TRACES_SAMPLER_ARG", argument)];
            assert_eq!(
                collector(URL, &set),
                Err("OTEL_TRACES_SAMPLER_ARG"),
                "{argument}"
            );
        }
    }
}
