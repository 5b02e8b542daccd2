/** Where auth-service is, and the options of channels to it. */

import { type ChannelCredentials, type ChannelOptions, credentials } from "@grpc/grpc-js";
import { readFileSync } from "node:fs";
import { POLICY } from "./health.js";

/** PEM files of TLS connections. Read once, when the client is created. */
export interface Tls {
  readonly caFile: string;
  readonly certFile?: string | undefined;
  readonly keyFile?: string | undefined;
}

/** Where to connect. */
export interface Address {
  readonly target: string;
  readonly credentials: ChannelCredentials;
}

/** Calls go to the serving replicas in turn; nothing else may change that. */
export const OPTIONS: ChannelOptions = {
  "grpc.service_config": JSON.stringify({ loadBalancingConfig: [{ [POLICY]: {} }] }),
  "grpc.service_config_disable_resolution": 1,
  "grpc.enable_http_proxy": 0,
  // Password calls have connections of their own, because a flood of logins delays all calls on theirs.
  "grpc.use_local_subchannel_pool": 1,
  // A replica that comes back is used after at most so long.
  "grpc.initial_reconnect_backoff_ms": 100,
  "grpc.max_reconnect_backoff_ms": 2_000,
  "grpc.dns_min_time_between_resolutions_ms": 2_000,
  // Dead peers are noticed by pings.
  "grpc.keepalive_time_ms": 10_000,
  "grpc.keepalive_timeout_ms": 5_000,
};

/** An `http` URL with host and port, or with `tls` an `https` URL; else a `TypeError`. */
export function parseAddress(url: string, tls: Tls | undefined): Address {
  const scheme = tls ? "https" : "http";
  const match = new RegExp(`^${scheme}://([^/@?#\\s]+:[1-9]\\d{0,4})/?$`).exec(url);
  // Not the URL itself in the message, which may contain a password.
  const form = `${scheme}://, a host and a port, such as ${scheme}://auth-service:50051`;
  if (!match) throw new TypeError(`the URL must be ${form}${tls ? "" : " (https:// needs tls)"}`);
  const read = (file: string | undefined) => (file === undefined ? null : readFileSync(file));
  return {
    target: `dns:///${match[1]}`,
    credentials: tls
      ? credentials.createSsl(read(tls.caFile), read(tls.keyFile), read(tls.certFile))
      : credentials.createInsecure(),
  };
}

/** By the variables of the programs: `AUTH_SERVICE_URL` and `AUTH_CLIENT_TLS_{CA,CERT,KEY}_FILE`. */
export function settingsFromEnv(): [string, Tls | undefined] {
  const { AUTH_CLIENT_TLS_CA_FILE: caFile, ...env } = process.env;
  const [certFile, keyFile] = [env["AUTH_CLIENT_TLS_CERT_FILE"], env["AUTH_CLIENT_TLS_KEY_FILE"]];
  const url = env["AUTH_SERVICE_URL"] ?? "http://127.0.0.1:50051";
  return [url, caFile ? { caFile, certFile, keyFile } : undefined];
}
