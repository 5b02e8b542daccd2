# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_posts_service_global_optspecs
    string join \n posts-listen-addr= auth-service-url= ops-listen-addr= database-url= database-url-file= share-database= posts-of-deleted-users= user-changes-key= user-changes-key-file= response-memory-mib= posts-tls-cert-file= posts-tls-key-file= posts-tls-client-ca-file= auth-client-tls-ca-file= auth-client-tls-cert-file= auth-client-tls-key-file= trusted-gateways= lame-duck-seconds= log-format= rust-log= otel-exporter-otlp-endpoint= h/help V/version
end

function __fish_posts_service_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_posts_service_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_posts_service_using_subcommand
    set -l cmd (__fish_posts_service_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c posts-service -n "__fish_posts_service_needs_command" -l posts-listen-addr -d 'Address of the gRPC listener: ip:port, or network:port for the address in that network' -r
complete -c posts-service -n "__fish_posts_service_needs_command" -l auth-service-url -d 'URL of auth-service\'s gRPC port; the host name may resolve to several replicas' -r
complete -c posts-service -n "__fish_posts_service_needs_command" -l ops-listen-addr -d 'Address of /livez, /readyz and /metrics; keep it private' -r
complete -c posts-service -n "__fish_posts_service_needs_command" -l database-url -d 'Database: postgres://user:password@host:5432/database or sqlite://path/to/file.db' -r
complete -c posts-service -n "__fish_posts_service_needs_command" -l database-url-file -d 'File that contains DATABASE_URL' -r -F
complete -c posts-service -n "__fish_posts_service_needs_command" -l share-database -d 'Make the first tables in a schema of PostgreSQL that has tables of other programs' -r -f -a "on\t''
off\t''"
complete -c posts-service -n "__fish_posts_service_needs_command" -l posts-of-deleted-users -d 'What becomes of the posts of deleted users' -r -f -a "keep\t'They stay, without an author'
delete\t'They are deleted too'"
complete -c posts-service -n "__fish_posts_service_needs_command" -l user-changes-key -d 'API key of an admin, for which auth-service tells who was deleted; none for a client certificate that it names' -r
complete -c posts-service -n "__fish_posts_service_needs_command" -l user-changes-key-file -d 'File that contains USER_CHANGES_KEY; it may be replaced' -r -F
complete -c posts-service -n "__fish_posts_service_needs_command" -l response-memory-mib -d 'MiB of posts that may be in responses at a time until callers have read them, 32 to 65536; more wait for 5 seconds, then get OVERLOADED' -r
complete -c posts-service -n "__fish_posts_service_needs_command" -l posts-tls-cert-file -d 'PEM certificate of the gRPC listener of posts; enables TLS' -r -F
complete -c posts-service -n "__fish_posts_service_needs_command" -l posts-tls-key-file -d 'PEM private key of that certificate' -r -F
complete -c posts-service -n "__fish_posts_service_needs_command" -l posts-tls-client-ca-file -d 'PEM CA certificates; requires every gRPC client of posts to present a certificate signed by one of them' -r -F
complete -c posts-service -n "__fish_posts_service_needs_command" -l auth-client-tls-ca-file -d 'PEM file of the CAs that may issue auth-service\'s certificate; required for https' -r -F
complete -c posts-service -n "__fish_posts_service_needs_command" -l auth-client-tls-cert-file -d 'PEM file of the client certificate, if auth-service requires one' -r -F
complete -c posts-service -n "__fish_posts_service_needs_command" -l auth-client-tls-key-file -d 'PEM file of the key of the client certificate' -r -F
complete -c posts-service -n "__fish_posts_service_needs_command" -l trusted-gateways -d 'Comma-separated CIDRs of gRPC callers that may state the client address, request id and trace of a call' -r
complete -c posts-service -n "__fish_posts_service_needs_command" -l lame-duck-seconds -d 'Seconds between the signal to stop and the end of accepting, 0 to 300: the time for load balancers to notice that /readyz fails' -r
complete -c posts-service -n "__fish_posts_service_needs_command" -l log-format -d 'Format of log lines on stderr' -r -f -a "pretty\t'For a terminal'
json\t'One JSON object per line'"
complete -c posts-service -n "__fish_posts_service_needs_command" -l rust-log -d 'Log level, or targets with levels, such as `debug` or `info,h2=debug`' -r
complete -c posts-service -n "__fish_posts_service_needs_command" -l otel-exporter-otlp-endpoint -d 'URL of an OpenTelemetry collector that accepts traces over gRPC, such as `http://127.0.0.1:4317`; without it no traces are exported' -r
complete -c posts-service -n "__fish_posts_service_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c posts-service -n "__fish_posts_service_needs_command" -s V -l version -d 'Print version'
complete -c posts-service -n "__fish_posts_service_needs_command" -f -a "serve" -d 'Serve; the default without a command'
complete -c posts-service -n "__fish_posts_service_needs_command" -f -a "healthcheck" -d 'Exit with 0 if the program that runs with these settings is ready, else with 1'
complete -c posts-service -n "__fish_posts_service_needs_command" -f -a "doctor" -d 'Run the steps of a start without changing anything, and print one line for each'
complete -c posts-service -n "__fish_posts_service_needs_command" -f -a "migrate" -d 'Wait for the database, migrate its schema, and exit'
complete -c posts-service -n "__fish_posts_service_needs_command" -f -a "skip-ids" -d 'Skip post ids after a restore, so that no new post gets the id of a lost one'
complete -c posts-service -n "__fish_posts_service_needs_command" -f -a "accept-history" -d 'Accept the users that auth-service has now, although posts-service followed another history; posts of authors whom it does not have are deleted or lose their author'
complete -c posts-service -n "__fish_posts_service_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c posts-service -n "__fish_posts_service_using_subcommand serve" -s h -l help -d 'Print help'
complete -c posts-service -n "__fish_posts_service_using_subcommand healthcheck" -s h -l help -d 'Print help'
complete -c posts-service -n "__fish_posts_service_using_subcommand doctor" -s h -l help -d 'Print help'
complete -c posts-service -n "__fish_posts_service_using_subcommand migrate" -s h -l help -d 'Print help'
complete -c posts-service -n "__fish_posts_service_using_subcommand skip-ids" -s h -l help -d 'Print help'
complete -c posts-service -n "__fish_posts_service_using_subcommand accept-history" -s h -l help -d 'Print help'
complete -c posts-service -n "__fish_posts_service_using_subcommand help; and not __fish_seen_subcommand_from serve healthcheck doctor migrate skip-ids accept-history help" -f -a "serve" -d 'Serve; the default without a command'
complete -c posts-service -n "__fish_posts_service_using_subcommand help; and not __fish_seen_subcommand_from serve healthcheck doctor migrate skip-ids accept-history help" -f -a "healthcheck" -d 'Exit with 0 if the program that runs with these settings is ready, else with 1'
complete -c posts-service -n "__fish_posts_service_using_subcommand help; and not __fish_seen_subcommand_from serve healthcheck doctor migrate skip-ids accept-history help" -f -a "doctor" -d 'Run the steps of a start without changing anything, and print one line for each'
complete -c posts-service -n "__fish_posts_service_using_subcommand help; and not __fish_seen_subcommand_from serve healthcheck doctor migrate skip-ids accept-history help" -f -a "migrate" -d 'Wait for the database, migrate its schema, and exit'
complete -c posts-service -n "__fish_posts_service_using_subcommand help; and not __fish_seen_subcommand_from serve healthcheck doctor migrate skip-ids accept-history help" -f -a "skip-ids" -d 'Skip post ids after a restore, so that no new post gets the id of a lost one'
complete -c posts-service -n "__fish_posts_service_using_subcommand help; and not __fish_seen_subcommand_from serve healthcheck doctor migrate skip-ids accept-history help" -f -a "accept-history" -d 'Accept the users that auth-service has now, although posts-service followed another history; posts of authors whom it does not have are deleted or lose their author'
complete -c posts-service -n "__fish_posts_service_using_subcommand help; and not __fish_seen_subcommand_from serve healthcheck doctor migrate skip-ids accept-history help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
