# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_gateway_global_optspecs
    string join \n auth-service-url= posts-service-url= ops-listen-addr= bearer-listen-addr= basic-listen-addr= forward-auth-listen-addr= trusted-proxies= console= api-docs= sign-in-logo-file= cors-allowed-origins= max-connections-per-address= request-memory-mib= response-memory-mib= forward-auth-tls-cert-file= forward-auth-tls-key-file= forward-auth-tls-client-ca-file= sign-in= sign-in-url= cookie-domain= return-origins= sign-in-title= sign-in-help= auth-client-tls-ca-file= auth-client-tls-cert-file= auth-client-tls-key-file= posts-client-tls-ca-file= posts-client-tls-cert-file= posts-client-tls-key-file= lame-duck-seconds= log-format= rust-log= otel-exporter-otlp-endpoint= h/help V/version
end

function __fish_gateway_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_gateway_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_gateway_using_subcommand
    set -l cmd (__fish_gateway_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c gateway -n "__fish_gateway_needs_command" -l auth-service-url -d 'URL of the gRPC port of auth-service; the host may resolve to several replicas' -r
complete -c gateway -n "__fish_gateway_needs_command" -l posts-service-url -d 'URL of the gRPC port of posts-service; the host may resolve to several replicas; unset: the API has no routes of posts' -r
complete -c gateway -n "__fish_gateway_needs_command" -l ops-listen-addr -d 'IP address and port of /livez, /readyz and /metrics; must not be public' -r
complete -c gateway -n "__fish_gateway_needs_command" -l bearer-listen-addr -d 'IP address and port of the bearer-token variant (users, tokens, roles), or off' -r
complete -c gateway -n "__fish_gateway_needs_command" -l basic-listen-addr -d 'IP address and port of the HTTP Basic variant, or off' -r
complete -c gateway -n "__fish_gateway_needs_command" -l forward-auth-listen-addr -d 'IP address and port of /authorize and /introspect, where proxies ask whether a request may pass, or off; must not be public' -r
complete -c gateway -n "__fish_gateway_needs_command" -l trusted-proxies -d 'CIDRs of proxies whose X-Forwarded-For, x-request-id and traceparent headers are trusted, separated by commas; empty for none' -r
complete -c gateway -n "__fish_gateway_needs_command" -l console -d 'Whether the bearer-token variant serves the console, a page for administration, at /console/' -r -f -a "on\t''
off\t''"
complete -c gateway -n "__fish_gateway_needs_command" -l api-docs -d 'Whether the public addresses serve /openapi.json and Swagger UI at /docs' -r -f -a "on\t''
off\t''"
complete -c gateway -n "__fish_gateway_needs_command" -l sign-in-logo-file -d 'SVG or PNG of at most 64 KiB that the pages where people sign in show' -r -F
complete -c gateway -n "__fish_gateway_needs_command" -l cors-allowed-origins -d 'Origins that CORS allows, as browsers send them, separated by commas; * for all, empty for none' -r
complete -c gateway -n "__fish_gateway_needs_command" -l max-connections-per-address -d 'Connections that one client address (IPv6: one /64) may have to the public addresses, 1 to 10000; trusted proxies may have any number' -r
complete -c gateway -n "__fish_gateway_needs_command" -l request-memory-mib -d 'MiB of request bodies that may be read at a time, 16 to 65536; more wait for 5 seconds, then get 503. One client gets at most half' -r
complete -c gateway -n "__fish_gateway_needs_command" -l response-memory-mib -d 'MiB of posts that may be in responses at a time until clients have read them, 32 to 65536; more wait for 5 seconds, then get 503. One client gets at most half' -r
complete -c gateway -n "__fish_gateway_needs_command" -l forward-auth-tls-cert-file -d 'PEM file of the certificate of that address; enables TLS' -r -F
complete -c gateway -n "__fish_gateway_needs_command" -l forward-auth-tls-key-file -d 'PEM file of the private key of that certificate' -r -F
complete -c gateway -n "__fish_gateway_needs_command" -l forward-auth-tls-client-ca-file -d 'PEM file of CAs; requires every proxy to present a certificate of one of them' -r -F
complete -c gateway -n "__fish_gateway_needs_command" -l sign-in -d 'Whether people can sign in at a page, and requests of browsers are led there and use its cookie' -r -f -a "on\t''
off\t''"
complete -c gateway -n "__fish_gateway_needs_command" -l sign-in-url -d 'Where people sign in to applications: a path of the application\'s own host, or a URL' -r
complete -c gateway -n "__fish_gateway_needs_command" -l cookie-domain -d 'Domain whose hosts share one sign-in, such as example.org; all of them receive the cookie' -r
complete -c gateway -n "__fish_gateway_needs_command" -l return-origins -d 'Origins of applications that people may come from and go back to, separated by commas, such as https://*.example.org' -r
complete -c gateway -n "__fish_gateway_needs_command" -l sign-in-title -d 'Name on the pages where people sign in, and in their applications for one-time codes, at most 64 characters' -r
complete -c gateway -n "__fish_gateway_needs_command" -l sign-in-help -d 'Where people get help, on those pages: a line of text, or an https or mailto address' -r
complete -c gateway -n "__fish_gateway_needs_command" -l auth-client-tls-ca-file -d 'PEM file of the CAs that may issue auth-service\'s certificate; required for https' -r -F
complete -c gateway -n "__fish_gateway_needs_command" -l auth-client-tls-cert-file -d 'PEM file of the client certificate, if auth-service requires one' -r -F
complete -c gateway -n "__fish_gateway_needs_command" -l auth-client-tls-key-file -d 'PEM file of the key of the client certificate' -r -F
complete -c gateway -n "__fish_gateway_needs_command" -l posts-client-tls-ca-file -d 'PEM file of the CAs that may issue posts-service\'s certificate; required for https' -r -F
complete -c gateway -n "__fish_gateway_needs_command" -l posts-client-tls-cert-file -d 'PEM file of the client certificate, if posts-service requires one' -r -F
complete -c gateway -n "__fish_gateway_needs_command" -l posts-client-tls-key-file -d 'PEM file of the key of the client certificate' -r -F
complete -c gateway -n "__fish_gateway_needs_command" -l lame-duck-seconds -d 'Seconds between the signal to stop and the end of accepting, 0 to 300: the time for load balancers to notice that /readyz fails' -r
complete -c gateway -n "__fish_gateway_needs_command" -l log-format -d 'Format of log lines on stderr' -r -f -a "pretty\t'For a terminal'
json\t'One JSON object per line'"
complete -c gateway -n "__fish_gateway_needs_command" -l rust-log -d 'Log level, or targets with levels, such as `debug` or `info,h2=debug`' -r
complete -c gateway -n "__fish_gateway_needs_command" -l otel-exporter-otlp-endpoint -d 'URL of an OpenTelemetry collector that accepts traces over gRPC, such as `http://127.0.0.1:4317`; without it no traces are exported' -r
complete -c gateway -n "__fish_gateway_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c gateway -n "__fish_gateway_needs_command" -s V -l version -d 'Print version'
complete -c gateway -n "__fish_gateway_needs_command" -f -a "serve" -d 'Serve; the default without a command'
complete -c gateway -n "__fish_gateway_needs_command" -f -a "healthcheck" -d 'Exit with 0 if the program that runs with these settings is ready, else with 1'
complete -c gateway -n "__fish_gateway_needs_command" -f -a "doctor" -d 'Run the steps of a start without changing anything, and print one line for each'
complete -c gateway -n "__fish_gateway_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c gateway -n "__fish_gateway_using_subcommand serve" -s h -l help -d 'Print help'
complete -c gateway -n "__fish_gateway_using_subcommand healthcheck" -s h -l help -d 'Print help'
complete -c gateway -n "__fish_gateway_using_subcommand doctor" -s h -l help -d 'Print help'
complete -c gateway -n "__fish_gateway_using_subcommand help; and not __fish_seen_subcommand_from serve healthcheck doctor help" -f -a "serve" -d 'Serve; the default without a command'
complete -c gateway -n "__fish_gateway_using_subcommand help; and not __fish_seen_subcommand_from serve healthcheck doctor help" -f -a "healthcheck" -d 'Exit with 0 if the program that runs with these settings is ready, else with 1'
complete -c gateway -n "__fish_gateway_using_subcommand help; and not __fish_seen_subcommand_from serve healthcheck doctor help" -f -a "doctor" -d 'Run the steps of a start without changing anything, and print one line for each'
complete -c gateway -n "__fish_gateway_using_subcommand help; and not __fish_seen_subcommand_from serve healthcheck doctor help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
