# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_rolegate_global_optspecs
    string join \n auth-listen-addr= posts= posts-listen-addr= ops-listen-addr= database-url= database-url-file= posts-database-url= posts-database-url-file= share-database= posts-of-deleted-users= data-dir= database-reads= signing-secret= signing-secret-file= signing-secrets-accepted= signing-secrets-accepted-file= second-factor-key= second-factor-key-file= second-factor-keys-accepted= second-factor-keys-accepted-file= default-admin-password= default-admin-password-file= password-pepper= password-pepper-file= password-min-length= password-blocklist-file= admins-set-passwords= bcrypt-cost= bcrypt-threads= bcrypt-lanes= basic-cache-ttl-seconds= registration= second-factor= extra-roles= session-idle-seconds= session-max-seconds= audit-retention-days= sign-in= sign-in-url= cookie-domain= return-origins= sign-in-title= sign-in-help= login-failure-limit= registration-limit= auth-tls-cert-file= auth-tls-key-file= auth-tls-client-ca-file= user-changes-certificates= bearer-listen-addr= basic-listen-addr= forward-auth-listen-addr= trusted-proxies= console= api-docs= sign-in-logo-file= cors-allowed-origins= max-connections-per-address= request-memory-mib= response-memory-mib= forward-auth-tls-cert-file= forward-auth-tls-key-file= forward-auth-tls-client-ca-file= posts-tls-cert-file= posts-tls-key-file= posts-tls-client-ca-file= lame-duck-seconds= log-format= rust-log= otel-exporter-otlp-endpoint= h/help V/version
end

function __fish_rolegate_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_rolegate_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_rolegate_using_subcommand
    set -l cmd (__fish_rolegate_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c rolegate -n "__fish_rolegate_needs_command" -l auth-listen-addr -d 'Address of the gRPC listener of users, or off' -r
complete -c rolegate -n "__fish_rolegate_needs_command" -l posts -d 'Whether there are posts: their routes, their gRPC listener and their database' -r -f -a "on\t''
off\t''"
complete -c rolegate -n "__fish_rolegate_needs_command" -l posts-listen-addr -d 'Address of the gRPC listener of posts, or off' -r
complete -c rolegate -n "__fish_rolegate_needs_command" -l ops-listen-addr -d 'Address of /livez, /readyz and /metrics; keep it private' -r
complete -c rolegate -n "__fish_rolegate_needs_command" -l database-url -d 'Database of the users: postgres://user:password@host:5432/database or sqlite://path/to/file.db [default: sqlite://DATA_DIR/rolegate.db]' -r
complete -c rolegate -n "__fish_rolegate_needs_command" -l database-url-file -d 'File that contains DATABASE_URL' -r -F
complete -c rolegate -n "__fish_rolegate_needs_command" -l posts-database-url -d 'Database of the posts [default: the PostgreSQL database of the users, else sqlite://DATA_DIR/posts.db]' -r
complete -c rolegate -n "__fish_rolegate_needs_command" -l posts-database-url-file -d 'File that contains POSTS_DATABASE_URL' -r -F
complete -c rolegate -n "__fish_rolegate_needs_command" -l share-database -d 'Make the first tables in a schema of PostgreSQL that has tables of other programs' -r -f -a "on\t''
off\t''"
complete -c rolegate -n "__fish_rolegate_needs_command" -l posts-of-deleted-users -d 'What becomes of the posts of deleted users' -r -f -a "keep\t'They stay, without an author'
delete\t'They are deleted too'"
complete -c rolegate -n "__fish_rolegate_needs_command" -l data-dir -d 'Folder of generated secrets and embedded databases; created if it does not exist' -r -F
complete -c rolegate -n "__fish_rolegate_needs_command" -l database-reads -d 'Reads that count on PostgreSQL: of the primary, or those that a synchronous standby acknowledges (quorum)' -r -f -a "primary\t''
quorum\t''"
complete -c rolegate -n "__fish_rolegate_needs_command" -l signing-secret -d 'HS256 secret that signs access tokens, at least 32 bytes' -r
complete -c rolegate -n "__fish_rolegate_needs_command" -l signing-secret-file -d 'File that contains SIGNING_SECRET' -r -F
complete -c rolegate -n "__fish_rolegate_needs_command" -l signing-secrets-accepted -d 'Additional secrets whose tokens are accepted, separated by commas or newlines; for rotating SIGNING_SECRET' -r
complete -c rolegate -n "__fish_rolegate_needs_command" -l signing-secrets-accepted-file -d 'File that contains SIGNING_SECRETS_ACCEPTED' -r -F
complete -c rolegate -n "__fish_rolegate_needs_command" -l second-factor-key -d 'Secret that seals second factors in the database, at least 32 bytes' -r
complete -c rolegate -n "__fish_rolegate_needs_command" -l second-factor-key-file -d 'File that contains SECOND_FACTOR_KEY' -r -F
complete -c rolegate -n "__fish_rolegate_needs_command" -l second-factor-keys-accepted -d 'Additional secrets that second factors may be sealed with, separated by commas or newlines; for rotating SECOND_FACTOR_KEY' -r
complete -c rolegate -n "__fish_rolegate_needs_command" -l second-factor-keys-accepted-file -d 'File that contains SECOND_FACTOR_KEYS_ACCEPTED' -r -F
complete -c rolegate -n "__fish_rolegate_needs_command" -l default-admin-password -d 'Password of the user admin, which is created if it does not exist' -r
complete -c rolegate -n "__fish_rolegate_needs_command" -l default-admin-password-file -d 'File that contains DEFAULT_ADMIN_PASSWORD' -r -F
complete -c rolegate -n "__fish_rolegate_needs_command" -l password-pepper -d 'Secrets that go into password hashes, at least 32 bytes each, the newest first, separated by commas or newlines; after a first entry "none" they are only accepted' -r
complete -c rolegate -n "__fish_rolegate_needs_command" -l password-pepper-file -d 'File that contains PASSWORD_PEPPER' -r -F
complete -c rolegate -n "__fish_rolegate_needs_command" -l password-min-length -d 'Minimum length of a new password in bytes, 1 to 72' -r
complete -c rolegate -n "__fish_rolegate_needs_command" -l password-blocklist-file -d 'File of passwords that may not be chosen, one a line or its SHA-1 digest in 40 hex digits, such as the 10,000 commonest of a public list: sort -t: -k2,2nr pwnedpasswords.txt | head -n 10000' -r -F
complete -c rolegate -n "__fish_rolegate_needs_command" -l admins-set-passwords -d 'Whether admins set passwords of other users, besides making links by which users choose them' -r -f -a "on\t''
off\t''"
complete -c rolegate -n "__fish_rolegate_needs_command" -l bcrypt-cost -d 'bcrypt cost of new password hashes (base-2 logarithm of the rounds), 12 to 16' -r
complete -c rolegate -n "__fish_rolegate_needs_command" -l bcrypt-threads -d 'Password hashing threads, 1 to 256 [default: one per core]' -r
complete -c rolegate -n "__fish_rolegate_needs_command" -l bcrypt-lanes -d 'Passwords that each thread hashes concurrently, 1 to 8' -r
complete -c rolegate -n "__fish_rolegate_needs_command" -l basic-cache-ttl-seconds -d 'Seconds to cache a verified Basic password, as a keyed digest; 0 disables the cache' -r
complete -c rolegate -n "__fish_rolegate_needs_command" -l registration -d 'Whether anyone may register' -r -f -a "open\t''
closed\t''"
complete -c rolegate -n "__fish_rolegate_needs_command" -l second-factor -d 'Who has a second factor: optional (who turns it on), admins (the same, and admins act as user without it) or off (nobody)' -r
complete -c rolegate -n "__fish_rolegate_needs_command" -l extra-roles -d 'Roles besides user, author and admin, separated by commas, such as editor,auditor' -r
complete -c rolegate -n "__fish_rolegate_needs_command" -l session-idle-seconds -d 'Seconds without use after which a session ends, 300 to 31,536,000' -r
complete -c rolegate -n "__fish_rolegate_needs_command" -l session-max-seconds -d 'Seconds after which a session ends in any case, 300 to 31,536,000' -r
complete -c rolegate -n "__fish_rolegate_needs_command" -l audit-retention-days -d 'Days after which the record of what happened is removed, 1 to 36,500' -r
complete -c rolegate -n "__fish_rolegate_needs_command" -l sign-in -d 'Whether people can sign in at a page, and requests of browsers are led there and use its cookie' -r -f -a "on\t''
off\t''"
complete -c rolegate -n "__fish_rolegate_needs_command" -l sign-in-url -d 'Where people sign in to applications: a path of the application\'s own host, or a URL' -r
complete -c rolegate -n "__fish_rolegate_needs_command" -l cookie-domain -d 'Domain whose hosts share one sign-in, such as example.org; all of them receive the cookie' -r
complete -c rolegate -n "__fish_rolegate_needs_command" -l return-origins -d 'Origins of applications that people may come from and go back to, separated by commas, such as https://*.example.org' -r
complete -c rolegate -n "__fish_rolegate_needs_command" -l sign-in-title -d 'Name on the pages where people sign in, and in their applications for one-time codes, at most 64 characters' -r
complete -c rolegate -n "__fish_rolegate_needs_command" -l sign-in-help -d 'Where people get help, on those pages: a line of text, or an https or mailto address' -r
complete -c rolegate -n "__fish_rolegate_needs_command" -l login-failure-limit -d 'Failed logins per minute for a username at a client address; 15 times that per client address; 0 for unlimited' -r
complete -c rolegate -n "__fish_rolegate_needs_command" -l registration-limit -d 'Registrations per minute and client address; 0 for unlimited' -r
complete -c rolegate -n "__fish_rolegate_needs_command" -l auth-tls-cert-file -d 'PEM certificate of the gRPC listener; enables TLS' -r -F
complete -c rolegate -n "__fish_rolegate_needs_command" -l auth-tls-key-file -d 'PEM private key of that certificate' -r -F
complete -c rolegate -n "__fish_rolegate_needs_command" -l auth-tls-client-ca-file -d 'PEM CA certificates; requires every gRPC client to present a certificate signed by one of them' -r -F
complete -c rolegate -n "__fish_rolegate_needs_command" -l user-changes-certificates -d 'DNS names in verified client certificates of services that may follow the changes of users, separated by commas' -r
complete -c rolegate -n "__fish_rolegate_needs_command" -l bearer-listen-addr -d 'IP address and port of the bearer-token variant (users, tokens, roles), or off' -r
complete -c rolegate -n "__fish_rolegate_needs_command" -l basic-listen-addr -d 'IP address and port of the HTTP Basic variant, or off' -r
complete -c rolegate -n "__fish_rolegate_needs_command" -l forward-auth-listen-addr -d 'IP address and port of /authorize and /introspect, where proxies ask whether a request may pass, or off; must not be public' -r
complete -c rolegate -n "__fish_rolegate_needs_command" -l trusted-proxies -d 'CIDRs of proxies whose X-Forwarded-For, x-request-id and traceparent headers are trusted, separated by commas; empty for none' -r
complete -c rolegate -n "__fish_rolegate_needs_command" -l console -d 'Whether the bearer-token variant serves the console, a page for administration, at /console/' -r -f -a "on\t''
off\t''"
complete -c rolegate -n "__fish_rolegate_needs_command" -l api-docs -d 'Whether the public addresses serve /openapi.json and Swagger UI at /docs' -r -f -a "on\t''
off\t''"
complete -c rolegate -n "__fish_rolegate_needs_command" -l sign-in-logo-file -d 'SVG or PNG of at most 64 KiB that the pages where people sign in show' -r -F
complete -c rolegate -n "__fish_rolegate_needs_command" -l cors-allowed-origins -d 'Origins that CORS allows, as browsers send them, separated by commas; * for all, empty for none' -r
complete -c rolegate -n "__fish_rolegate_needs_command" -l max-connections-per-address -d 'Connections that one client address (IPv6: one /64) may have to the public addresses, 1 to 10000; trusted proxies may have any number' -r
complete -c rolegate -n "__fish_rolegate_needs_command" -l request-memory-mib -d 'MiB of request bodies that may be read at a time, 16 to 65536; more wait for 5 seconds, then get 503. One client gets at most half' -r
complete -c rolegate -n "__fish_rolegate_needs_command" -l response-memory-mib -d 'MiB of posts that may be in responses at a time until clients have read them, 32 to 65536; more wait for 5 seconds, then get 503. One client gets at most half' -r
complete -c rolegate -n "__fish_rolegate_needs_command" -l forward-auth-tls-cert-file -d 'PEM file of the certificate of that address; enables TLS' -r -F
complete -c rolegate -n "__fish_rolegate_needs_command" -l forward-auth-tls-key-file -d 'PEM file of the private key of that certificate' -r -F
complete -c rolegate -n "__fish_rolegate_needs_command" -l forward-auth-tls-client-ca-file -d 'PEM file of CAs; requires every proxy to present a certificate of one of them' -r -F
complete -c rolegate -n "__fish_rolegate_needs_command" -l posts-tls-cert-file -d 'PEM certificate of the gRPC listener of posts; enables TLS' -r -F
complete -c rolegate -n "__fish_rolegate_needs_command" -l posts-tls-key-file -d 'PEM private key of that certificate' -r -F
complete -c rolegate -n "__fish_rolegate_needs_command" -l posts-tls-client-ca-file -d 'PEM CA certificates; requires every gRPC client of posts to present a certificate signed by one of them' -r -F
complete -c rolegate -n "__fish_rolegate_needs_command" -l lame-duck-seconds -d 'Seconds between the signal to stop and the end of accepting, 0 to 300: the time for load balancers to notice that /readyz fails' -r
complete -c rolegate -n "__fish_rolegate_needs_command" -l log-format -d 'Format of log lines on stderr' -r -f -a "pretty\t'For a terminal'
json\t'One JSON object per line'"
complete -c rolegate -n "__fish_rolegate_needs_command" -l rust-log -d 'Log level, or targets with levels, such as `debug` or `info,h2=debug`' -r
complete -c rolegate -n "__fish_rolegate_needs_command" -l otel-exporter-otlp-endpoint -d 'URL of an OpenTelemetry collector that accepts traces over gRPC, such as `http://127.0.0.1:4317`; without it no traces are exported' -r
complete -c rolegate -n "__fish_rolegate_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rolegate -n "__fish_rolegate_needs_command" -s V -l version -d 'Print version'
complete -c rolegate -n "__fish_rolegate_needs_command" -f -a "serve" -d 'Serve; the default without a command'
complete -c rolegate -n "__fish_rolegate_needs_command" -f -a "healthcheck" -d 'Exit with 0 if the program that runs with these settings is ready, else with 1'
complete -c rolegate -n "__fish_rolegate_needs_command" -f -a "doctor" -d 'Run the steps of a start without changing anything, and print one line for each'
complete -c rolegate -n "__fish_rolegate_needs_command" -f -a "migrate" -d 'Wait for the databases, migrate their schemas, and exit; creates no user'
complete -c rolegate -n "__fish_rolegate_needs_command" -f -a "user" -d 'Show and change users directly in the database'
complete -c rolegate -n "__fish_rolegate_needs_command" -f -a "audit" -d 'Show and verify the record of what happened'
complete -c rolegate -n "__fish_rolegate_needs_command" -f -a "backup" -d 'Copy the databases of users and posts into new files, also while they are served'
complete -c rolegate -n "__fish_rolegate_needs_command" -f -a "restore" -d 'Replace the databases of the settings by those of a backup, and end all sessions, access tokens and password links; API keys stay'
complete -c rolegate -n "__fish_rolegate_needs_command" -f -a "accept-history" -d 'Accept the users as they are now, although posts followed another history of them; posts of authors who are not among them are deleted or lose their author'
complete -c rolegate -n "__fish_rolegate_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c rolegate -n "__fish_rolegate_using_subcommand serve" -s h -l help -d 'Print help'
complete -c rolegate -n "__fish_rolegate_using_subcommand healthcheck" -s h -l help -d 'Print help'
complete -c rolegate -n "__fish_rolegate_using_subcommand doctor" -s h -l help -d 'Print help'
complete -c rolegate -n "__fish_rolegate_using_subcommand migrate" -s h -l help -d 'Print help'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and not __fish_seen_subcommand_from create list show disable enable delete rename set-role reset-password password-link remove-second-factor revoke-tokens end-all create-key keys delete-key erase-audit import export help" -s h -l help -d 'Print help'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and not __fish_seen_subcommand_from create list show disable enable delete rename set-role reset-password password-link remove-second-factor revoke-tokens end-all create-key keys delete-key erase-audit import export help" -f -a "create" -d 'Create a user, also while registration is closed'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and not __fish_seen_subcommand_from create list show disable enable delete rename set-role reset-password password-link remove-second-factor revoke-tokens end-all create-key keys delete-key erase-audit import export help" -f -a "list" -d 'List all users by ascending id'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and not __fish_seen_subcommand_from create list show disable enable delete rename set-role reset-password password-link remove-second-factor revoke-tokens end-all create-key keys delete-key erase-audit import export help" -f -a "show" -d 'Show a user'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and not __fish_seen_subcommand_from create list show disable enable delete rename set-role reset-password password-link remove-second-factor revoke-tokens end-all create-key keys delete-key erase-audit import export help" -f -a "disable" -d 'Refuse every credential of a user, from the next request on'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and not __fish_seen_subcommand_from create list show disable enable delete rename set-role reset-password password-link remove-second-factor revoke-tokens end-all create-key keys delete-key erase-audit import export help" -f -a "enable" -d 'Accept the credentials of a disabled user again, except for older tokens'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and not __fish_seen_subcommand_from create list show disable enable delete rename set-role reset-password password-link remove-second-factor revoke-tokens end-all create-key keys delete-key erase-audit import export help" -f -a "delete" -d 'Delete a user and revoke every credential of the user'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and not __fish_seen_subcommand_from create list show disable enable delete rename set-role reset-password password-link remove-second-factor revoke-tokens end-all create-key keys delete-key erase-audit import export help" -f -a "rename" -d 'Give a user another name; sessions, API keys and posts stay, access tokens end'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and not __fish_seen_subcommand_from create list show disable enable delete rename set-role reset-password password-link remove-second-factor revoke-tokens end-all create-key keys delete-key erase-audit import export help" -f -a "set-role" -d 'Set the role of a user; effective from the next request'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and not __fish_seen_subcommand_from create list show disable enable delete rename set-role reset-password password-link remove-second-factor revoke-tokens end-all create-key keys delete-key erase-audit import export help" -f -a "reset-password" -d 'Set the password of a user, typed, piped into stdin or read from a file'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and not __fish_seen_subcommand_from create list show disable enable delete rename set-role reset-password password-link remove-second-factor revoke-tokens end-all create-key keys delete-key erase-audit import export help" -f -a "password-link" -d 'Create a link by which a user chooses a password, and print it; good once, for 24 hours'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and not __fish_seen_subcommand_from create list show disable enable delete rename set-role reset-password password-link remove-second-factor revoke-tokens end-all create-key keys delete-key erase-audit import export help" -f -a "remove-second-factor" -d 'Turn off the second factor of a user who lost the device'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and not __fish_seen_subcommand_from create list show disable enable delete rename set-role reset-password password-link remove-second-factor revoke-tokens end-all create-key keys delete-key erase-audit import export help" -f -a "revoke-tokens" -d 'End every access token and session of a user, from the next request on; the user can log in again'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and not __fish_seen_subcommand_from create list show disable enable delete rename set-role reset-password password-link remove-second-factor revoke-tokens end-all create-key keys delete-key erase-audit import export help" -f -a "end-all" -d 'End the sessions, access tokens, password links and unfinished second-factor enrollments of all users, after a restore or a theft; after a restore of posts, run posts-service skip-ids too'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and not __fish_seen_subcommand_from create list show disable enable delete rename set-role reset-password password-link remove-second-factor revoke-tokens end-all create-key keys delete-key erase-audit import export help" -f -a "create-key" -d 'Create an API key of a user, and print it'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and not __fish_seen_subcommand_from create list show disable enable delete rename set-role reset-password password-link remove-second-factor revoke-tokens end-all create-key keys delete-key erase-audit import export help" -f -a "keys" -d 'List the API keys of a user by ascending id'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and not __fish_seen_subcommand_from create list show disable enable delete rename set-role reset-password password-link remove-second-factor revoke-tokens end-all create-key keys delete-key erase-audit import export help" -f -a "delete-key" -d 'Delete an API key of a user'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and not __fish_seen_subcommand_from create list show disable enable delete rename set-role reset-password password-link remove-second-factor revoke-tokens end-all create-key keys delete-key erase-audit import export help" -f -a "erase-audit" -d 'Erase the name and the addresses of a deleted user from the record of what happened'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and not __fish_seen_subcommand_from create list show disable enable delete rename set-role reset-password password-link remove-second-factor revoke-tokens end-all create-key keys delete-key erase-audit import export help" -f -a "import" -d 'Import users with their password hashes, one JSON object a line; all of them, or none'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and not __fish_seen_subcommand_from create list show disable enable delete rename set-role reset-password password-link remove-second-factor revoke-tokens end-all create-key keys delete-key erase-audit import export help" -f -a "export" -d 'Write all users with their password hashes to stdout, in the form that import reads'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and not __fish_seen_subcommand_from create list show disable enable delete rename set-role reset-password password-link remove-second-factor revoke-tokens end-all create-key keys delete-key erase-audit import export help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and __fish_seen_subcommand_from create" -l role -d 'Role of the user' -r
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and __fish_seen_subcommand_from create" -l new-password-file -d 'File that contains the password; default: stdin' -r -F
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and __fish_seen_subcommand_from create" -l link -d 'Print a link by which the user chooses a password; good once, for 24 hours'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and __fish_seen_subcommand_from create" -s h -l help -d 'Print help'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and __fish_seen_subcommand_from list" -l role -d 'Only users who have this role or an API key with it; also one that was taken out of `EXTRA_ROLES`' -r
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and __fish_seen_subcommand_from disable" -s h -l help -d 'Print help'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and __fish_seen_subcommand_from enable" -s h -l help -d 'Print help'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and __fish_seen_subcommand_from delete" -l yes -d 'Do not ask; without a terminal there is no question'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and __fish_seen_subcommand_from delete" -s h -l help -d 'Print help'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and __fish_seen_subcommand_from rename" -s h -l help -d 'Print help'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and __fish_seen_subcommand_from set-role" -s h -l help -d 'Print help'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and __fish_seen_subcommand_from reset-password" -l new-password-file -d 'File that contains the new password; default: stdin' -r -F
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and __fish_seen_subcommand_from reset-password" -s h -l help -d 'Print help'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and __fish_seen_subcommand_from password-link" -s h -l help -d 'Print help'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and __fish_seen_subcommand_from remove-second-factor" -s h -l help -d 'Print help'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and __fish_seen_subcommand_from revoke-tokens" -s h -l help -d 'Print help'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and __fish_seen_subcommand_from end-all" -l keys -d 'Delete every API key too'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and __fish_seen_subcommand_from end-all" -l yes -d 'Do not ask for confirmation; without a terminal none is asked for'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and __fish_seen_subcommand_from end-all" -s h -l help -d 'Print help'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and __fish_seen_subcommand_from create-key" -l name -d 'What the key is for' -r
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and __fish_seen_subcommand_from create-key" -l role -d 'Highest role that the key grants; default: the user\'s' -r
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and __fish_seen_subcommand_from create-key" -l expires-in -d 'How long the key is valid, such as 90days or 12h; default: without end' -r
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and __fish_seen_subcommand_from create-key" -s h -l help -d 'Print help'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and __fish_seen_subcommand_from keys" -s h -l help -d 'Print help'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and __fish_seen_subcommand_from delete-key" -s h -l help -d 'Print help'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and __fish_seen_subcommand_from erase-audit" -s h -l help -d 'Print help'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and __fish_seen_subcommand_from import" -l dry-run -d 'Check all lines and import nothing'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and __fish_seen_subcommand_from import" -l continue -d 'Import the good lines in transactions of at most 1,000 and skip the bad ones'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and __fish_seen_subcommand_from import" -l skip-existing -d 'Skip users whose names exist already, instead of an error'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and __fish_seen_subcommand_from import" -l reuse-ids -d 'Import ids up to the highest that was ever assigned: such a user gets the posts of a deleted user of this id'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and __fish_seen_subcommand_from import" -l accept-slow-hashes -d 'Import bcrypt hashes of a cost above 14 and `BCRYPT_COST`: every refused login takes as long as the highest cost'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and __fish_seen_subcommand_from import" -l accept-weak-hashes -d 'Import hashes below a tenth of OWASP\'s minimum'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and __fish_seen_subcommand_from import" -s h -l help -d 'Print help'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and __fish_seen_subcommand_from export" -s h -l help -d 'Print help'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and __fish_seen_subcommand_from help" -f -a "create" -d 'Create a user, also while registration is closed'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and __fish_seen_subcommand_from help" -f -a "list" -d 'List all users by ascending id'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and __fish_seen_subcommand_from help" -f -a "show" -d 'Show a user'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and __fish_seen_subcommand_from help" -f -a "disable" -d 'Refuse every credential of a user, from the next request on'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and __fish_seen_subcommand_from help" -f -a "enable" -d 'Accept the credentials of a disabled user again, except for older tokens'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and __fish_seen_subcommand_from help" -f -a "delete" -d 'Delete a user and revoke every credential of the user'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and __fish_seen_subcommand_from help" -f -a "rename" -d 'Give a user another name; sessions, API keys and posts stay, access tokens end'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and __fish_seen_subcommand_from help" -f -a "set-role" -d 'Set the role of a user; effective from the next request'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and __fish_seen_subcommand_from help" -f -a "reset-password" -d 'Set the password of a user, typed, piped into stdin or read from a file'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and __fish_seen_subcommand_from help" -f -a "password-link" -d 'Create a link by which a user chooses a password, and print it; good once, for 24 hours'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and __fish_seen_subcommand_from help" -f -a "remove-second-factor" -d 'Turn off the second factor of a user who lost the device'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and __fish_seen_subcommand_from help" -f -a "revoke-tokens" -d 'End every access token and session of a user, from the next request on; the user can log in again'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and __fish_seen_subcommand_from help" -f -a "end-all" -d 'End the sessions, access tokens, password links and unfinished second-factor enrollments of all users, after a restore or a theft; after a restore of posts, run posts-service skip-ids too'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and __fish_seen_subcommand_from help" -f -a "create-key" -d 'Create an API key of a user, and print it'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and __fish_seen_subcommand_from help" -f -a "keys" -d 'List the API keys of a user by ascending id'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and __fish_seen_subcommand_from help" -f -a "delete-key" -d 'Delete an API key of a user'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and __fish_seen_subcommand_from help" -f -a "erase-audit" -d 'Erase the name and the addresses of a deleted user from the record of what happened'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and __fish_seen_subcommand_from help" -f -a "import" -d 'Import users with their password hashes, one JSON object a line; all of them, or none'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and __fish_seen_subcommand_from help" -f -a "export" -d 'Write all users with their password hashes to stdout, in the form that import reads'
complete -c rolegate -n "__fish_rolegate_using_subcommand user; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c rolegate -n "__fish_rolegate_using_subcommand audit; and not __fish_seen_subcommand_from list export verify help" -s h -l help -d 'Print help'
complete -c rolegate -n "__fish_rolegate_using_subcommand audit; and not __fish_seen_subcommand_from list export verify help" -f -a "list" -d 'List what happened, the newest first'
complete -c rolegate -n "__fish_rolegate_using_subcommand audit; and not __fish_seen_subcommand_from list export verify help" -f -a "export" -d 'Write the record to stdout, the oldest first, one JSON object a line'
complete -c rolegate -n "__fish_rolegate_using_subcommand audit; and not __fish_seen_subcommand_from list export verify help" -f -a "verify" -d 'Find sealed rows that were changed, removed or put in another place'
complete -c rolegate -n "__fish_rolegate_using_subcommand audit; and not __fish_seen_subcommand_from list export verify help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c rolegate -n "__fish_rolegate_using_subcommand audit; and __fish_seen_subcommand_from list" -l user-id -d 'Only what happened to the user with this id' -r
complete -c rolegate -n "__fish_rolegate_using_subcommand audit; and __fish_seen_subcommand_from list" -l actor-id -d 'Only what the user with this id did' -r
complete -c rolegate -n "__fish_rolegate_using_subcommand audit; and __fish_seen_subcommand_from list" -l event -d 'Only this event, such as `role_changed`' -r
complete -c rolegate -n "__fish_rolegate_using_subcommand audit; and __fish_seen_subcommand_from list" -l limit -d 'How many, 1 to 1,000,000' -r
complete -c rolegate -n "__fish_rolegate_using_subcommand audit; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c rolegate -n "__fish_rolegate_using_subcommand audit; and __fish_seen_subcommand_from export" -s h -l help -d 'Print help'
complete -c rolegate -n "__fish_rolegate_using_subcommand audit; and __fish_seen_subcommand_from verify" -l seal -d 'A seal from the log, as revision:digest; without one, a chain that was computed anew is not found' -r
complete -c rolegate -n "__fish_rolegate_using_subcommand audit; and __fish_seen_subcommand_from verify" -s h -l help -d 'Print help'
complete -c rolegate -n "__fish_rolegate_using_subcommand audit; and __fish_seen_subcommand_from help" -f -a "list" -d 'List what happened, the newest first'
complete -c rolegate -n "__fish_rolegate_using_subcommand audit; and __fish_seen_subcommand_from help" -f -a "export" -d 'Write the record to stdout, the oldest first, one JSON object a line'
complete -c rolegate -n "__fish_rolegate_using_subcommand audit; and __fish_seen_subcommand_from help" -f -a "verify" -d 'Find sealed rows that were changed, removed or put in another place'
complete -c rolegate -n "__fish_rolegate_using_subcommand audit; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c rolegate -n "__fish_rolegate_using_subcommand backup" -s h -l help -d 'Print help'
complete -c rolegate -n "__fish_rolegate_using_subcommand restore" -l replace -d 'Replace the databases that exist; no copy of them is kept'
complete -c rolegate -n "__fish_rolegate_using_subcommand restore" -s h -l help -d 'Print help'
complete -c rolegate -n "__fish_rolegate_using_subcommand accept-history" -s h -l help -d 'Print help'
complete -c rolegate -n "__fish_rolegate_using_subcommand help; and not __fish_seen_subcommand_from serve healthcheck doctor migrate user audit backup restore accept-history help" -f -a "serve" -d 'Serve; the default without a command'
complete -c rolegate -n "__fish_rolegate_using_subcommand help; and not __fish_seen_subcommand_from serve healthcheck doctor migrate user audit backup restore accept-history help" -f -a "healthcheck" -d 'Exit with 0 if the program that runs with these settings is ready, else with 1'
complete -c rolegate -n "__fish_rolegate_using_subcommand help; and not __fish_seen_subcommand_from serve healthcheck doctor migrate user audit backup restore accept-history help" -f -a "doctor" -d 'Run the steps of a start without changing anything, and print one line for each'
complete -c rolegate -n "__fish_rolegate_using_subcommand help; and not __fish_seen_subcommand_from serve healthcheck doctor migrate user audit backup restore accept-history help" -f -a "migrate" -d 'Wait for the databases, migrate their schemas, and exit; creates no user'
complete -c rolegate -n "__fish_rolegate_using_subcommand help; and not __fish_seen_subcommand_from serve healthcheck doctor migrate user audit backup restore accept-history help" -f -a "user" -d 'Show and change users directly in the database'
complete -c rolegate -n "__fish_rolegate_using_subcommand help; and not __fish_seen_subcommand_from serve healthcheck doctor migrate user audit backup restore accept-history help" -f -a "audit" -d 'Show and verify the record of what happened'
complete -c rolegate -n "__fish_rolegate_using_subcommand help; and not __fish_seen_subcommand_from serve healthcheck doctor migrate user audit backup restore accept-history help" -f -a "backup" -d 'Copy the databases of users and posts into new files, also while they are served'
complete -c rolegate -n "__fish_rolegate_using_subcommand help; and not __fish_seen_subcommand_from serve healthcheck doctor migrate user audit backup restore accept-history help" -f -a "restore" -d 'Replace the databases of the settings by those of a backup, and end all sessions, access tokens and password links; API keys stay'
complete -c rolegate -n "__fish_rolegate_using_subcommand help; and not __fish_seen_subcommand_from serve healthcheck doctor migrate user audit backup restore accept-history help" -f -a "accept-history" -d 'Accept the users as they are now, although posts followed another history of them; posts of authors who are not among them are deleted or lose their author'
complete -c rolegate -n "__fish_rolegate_using_subcommand help; and not __fish_seen_subcommand_from serve healthcheck doctor migrate user audit backup restore accept-history help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c rolegate -n "__fish_rolegate_using_subcommand help; and __fish_seen_subcommand_from user" -f -a "create" -d 'Create a user, also while registration is closed'
complete -c rolegate -n "__fish_rolegate_using_subcommand help; and __fish_seen_subcommand_from user" -f -a "list" -d 'List all users by ascending id'
complete -c rolegate -n "__fish_rolegate_using_subcommand help; and __fish_seen_subcommand_from user" -f -a "show" -d 'Show a user'
complete -c rolegate -n "__fish_rolegate_using_subcommand help; and __fish_seen_subcommand_from user" -f -a "disable" -d 'Refuse every credential of a user, from the next request on'
complete -c rolegate -n "__fish_rolegate_using_subcommand help; and __fish_seen_subcommand_from user" -f -a "enable" -d 'Accept the credentials of a disabled user again, except for older tokens'
complete -c rolegate -n "__fish_rolegate_using_subcommand help; and __fish_seen_subcommand_from user" -f -a "delete" -d 'Delete a user and revoke every credential of the user'
complete -c rolegate -n "__fish_rolegate_using_subcommand help; and __fish_seen_subcommand_from user" -f -a "rename" -d 'Give a user another name; sessions, API keys and posts stay, access tokens end'
complete -c rolegate -n "__fish_rolegate_using_subcommand help; and __fish_seen_subcommand_from user" -f -a "set-role" -d 'Set the role of a user; effective from the next request'
complete -c rolegate -n "__fish_rolegate_using_subcommand help; and __fish_seen_subcommand_from user" -f -a "reset-password" -d 'Set the password of a user, typed, piped into stdin or read from a file'
complete -c rolegate -n "__fish_rolegate_using_subcommand help; and __fish_seen_subcommand_from user" -f -a "password-link" -d 'Create a link by which a user chooses a password, and print it; good once, for 24 hours'
complete -c rolegate -n "__fish_rolegate_using_subcommand help; and __fish_seen_subcommand_from user" -f -a "remove-second-factor" -d 'Turn off the second factor of a user who lost the device'
complete -c rolegate -n "__fish_rolegate_using_subcommand help; and __fish_seen_subcommand_from user" -f -a "revoke-tokens" -d 'End every access token and session of a user, from the next request on; the user can log in again'
complete -c rolegate -n "__fish_rolegate_using_subcommand help; and __fish_seen_subcommand_from user" -f -a "end-all" -d 'End the sessions, access tokens, password links and unfinished second-factor enrollments of all users, after a restore or a theft; after a restore of posts, run posts-service skip-ids too'
complete -c rolegate -n "__fish_rolegate_using_subcommand help; and __fish_seen_subcommand_from user" -f -a "create-key" -d 'Create an API key of a user, and print it'
complete -c rolegate -n "__fish_rolegate_using_subcommand help; and __fish_seen_subcommand_from user" -f -a "keys" -d 'List the API keys of a user by ascending id'
complete -c rolegate -n "__fish_rolegate_using_subcommand help; and __fish_seen_subcommand_from user" -f -a "delete-key" -d 'Delete an API key of a user'
complete -c rolegate -n "__fish_rolegate_using_subcommand help; and __fish_seen_subcommand_from user" -f -a "erase-audit" -d 'Erase the name and the addresses of a deleted user from the record of what happened'
complete -c rolegate -n "__fish_rolegate_using_subcommand help; and __fish_seen_subcommand_from user" -f -a "import" -d 'Import users with their password hashes, one JSON object a line; all of them, or none'
complete -c rolegate -n "__fish_rolegate_using_subcommand help; and __fish_seen_subcommand_from user" -f -a "export" -d 'Write all users with their password hashes to stdout, in the form that import reads'
complete -c rolegate -n "__fish_rolegate_using_subcommand help; and __fish_seen_subcommand_from audit" -f -a "list" -d 'List what happened, the newest first'
complete -c rolegate -n "__fish_rolegate_using_subcommand help; and __fish_seen_subcommand_from audit" -f -a "export" -d 'Write the record to stdout, the oldest first, one JSON object a line'
complete -c rolegate -n "__fish_rolegate_using_subcommand help; and __fish_seen_subcommand_from audit" -f -a "verify" -d 'Find sealed rows that were changed, removed or put in another place'
