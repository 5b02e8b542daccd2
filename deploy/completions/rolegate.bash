_rolegate() {
    local i cur prev opts cmd
    COMPREPLY=()
    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
        cur="$2"
    else
        cur="${COMP_WORDS[COMP_CWORD]}"
    fi
    prev="$3"
    cmd=""
    opts=""

    for i in "${COMP_WORDS[@]:0:COMP_CWORD}"
    do
        case "${cmd},${i}" in
            ",$1")
                cmd="rolegate"
                ;;
            rolegate,accept-history)
                cmd="rolegate__subcmd__accept__subcmd__history"
                ;;
            rolegate,audit)
                cmd="rolegate__subcmd__audit"
                ;;
            rolegate,backup)
                cmd="rolegate__subcmd__backup"
                ;;
            rolegate,doctor)
                cmd="rolegate__subcmd__doctor"
                ;;
            rolegate,healthcheck)
                cmd="rolegate__subcmd__healthcheck"
                ;;
            rolegate,help)
                cmd="rolegate__subcmd__help"
                ;;
            rolegate,migrate)
                cmd="rolegate__subcmd__migrate"
                ;;
            rolegate,restore)
                cmd="rolegate__subcmd__restore"
                ;;
            rolegate,serve)
                cmd="rolegate__subcmd__serve"
                ;;
            rolegate,user)
                cmd="rolegate__subcmd__user"
                ;;
            rolegate__subcmd__audit,export)
                cmd="rolegate__subcmd__audit__subcmd__export"
                ;;
            rolegate__subcmd__audit,help)
                cmd="rolegate__subcmd__audit__subcmd__help"
                ;;
            rolegate__subcmd__audit,list)
                cmd="rolegate__subcmd__audit__subcmd__list"
                ;;
            rolegate__subcmd__audit,verify)
                cmd="rolegate__subcmd__audit__subcmd__verify"
                ;;
            rolegate__subcmd__audit__subcmd__help,export)
                cmd="rolegate__subcmd__audit__subcmd__help__subcmd__export"
                ;;
            rolegate__subcmd__audit__subcmd__help,help)
                cmd="rolegate__subcmd__audit__subcmd__help__subcmd__help"
                ;;
            rolegate__subcmd__audit__subcmd__help,list)
                cmd="rolegate__subcmd__audit__subcmd__help__subcmd__list"
                ;;
            rolegate__subcmd__audit__subcmd__help,verify)
                cmd="rolegate__subcmd__audit__subcmd__help__subcmd__verify"
                ;;
            rolegate__subcmd__help,accept-history)
                cmd="rolegate__subcmd__help__subcmd__accept__subcmd__history"
                ;;
            rolegate__subcmd__help,audit)
                cmd="rolegate__subcmd__help__subcmd__audit"
                ;;
            rolegate__subcmd__help,backup)
                cmd="rolegate__subcmd__help__subcmd__backup"
                ;;
            rolegate__subcmd__help,doctor)
                cmd="rolegate__subcmd__help__subcmd__doctor"
                ;;
            rolegate__subcmd__help,healthcheck)
                cmd="rolegate__subcmd__help__subcmd__healthcheck"
                ;;
            rolegate__subcmd__help,help)
                cmd="rolegate__subcmd__help__subcmd__help"
                ;;
            rolegate__subcmd__help,migrate)
                cmd="rolegate__subcmd__help__subcmd__migrate"
                ;;
            rolegate__subcmd__help,restore)
                cmd="rolegate__subcmd__help__subcmd__restore"
                ;;
            rolegate__subcmd__help,serve)
                cmd="rolegate__subcmd__help__subcmd__serve"
                ;;
            rolegate__subcmd__help,user)
                cmd="rolegate__subcmd__help__subcmd__user"
                ;;
            rolegate__subcmd__help__subcmd__audit,export)
                cmd="rolegate__subcmd__help__subcmd__audit__subcmd__export"
                ;;
            rolegate__subcmd__help__subcmd__audit,list)
                cmd="rolegate__subcmd__help__subcmd__audit__subcmd__list"
                ;;
            rolegate__subcmd__help__subcmd__audit,verify)
                cmd="rolegate__subcmd__help__subcmd__audit__subcmd__verify"
                ;;
            rolegate__subcmd__help__subcmd__user,create)
                cmd="rolegate__subcmd__help__subcmd__user__subcmd__create"
                ;;
            rolegate__subcmd__help__subcmd__user,create-key)
                cmd="rolegate__subcmd__help__subcmd__user__subcmd__create__subcmd__key"
                ;;
            rolegate__subcmd__help__subcmd__user,delete)
                cmd="rolegate__subcmd__help__subcmd__user__subcmd__delete"
                ;;
            rolegate__subcmd__help__subcmd__user,delete-key)
                cmd="rolegate__subcmd__help__subcmd__user__subcmd__delete__subcmd__key"
                ;;
            rolegate__subcmd__help__subcmd__user,disable)
                cmd="rolegate__subcmd__help__subcmd__user__subcmd__disable"
                ;;
            rolegate__subcmd__help__subcmd__user,enable)
                cmd="rolegate__subcmd__help__subcmd__user__subcmd__enable"
                ;;
            rolegate__subcmd__help__subcmd__user,end-all)
                cmd="rolegate__subcmd__help__subcmd__user__subcmd__end__subcmd__all"
                ;;
            rolegate__subcmd__help__subcmd__user,erase-audit)
                cmd="rolegate__subcmd__help__subcmd__user__subcmd__erase__subcmd__audit"
                ;;
            rolegate__subcmd__help__subcmd__user,export)
                cmd="rolegate__subcmd__help__subcmd__user__subcmd__export"
                ;;
            rolegate__subcmd__help__subcmd__user,import)
                cmd="rolegate__subcmd__help__subcmd__user__subcmd__import"
                ;;
            rolegate__subcmd__help__subcmd__user,keys)
                cmd="rolegate__subcmd__help__subcmd__user__subcmd__keys"
                ;;
            rolegate__subcmd__help__subcmd__user,list)
                cmd="rolegate__subcmd__help__subcmd__user__subcmd__list"
                ;;
            rolegate__subcmd__help__subcmd__user,password-link)
                cmd="rolegate__subcmd__help__subcmd__user__subcmd__password__subcmd__link"
                ;;
            rolegate__subcmd__help__subcmd__user,remove-second-factor)
                cmd="rolegate__subcmd__help__subcmd__user__subcmd__remove__subcmd__second__subcmd__factor"
                ;;
            rolegate__subcmd__help__subcmd__user,rename)
                cmd="rolegate__subcmd__help__subcmd__user__subcmd__rename"
                ;;
            rolegate__subcmd__help__subcmd__user,reset-password)
                cmd="rolegate__subcmd__help__subcmd__user__subcmd__reset__subcmd__password"
                ;;
            rolegate__subcmd__help__subcmd__user,revoke-tokens)
                cmd="rolegate__subcmd__help__subcmd__user__subcmd__revoke__subcmd__tokens"
                ;;
            rolegate__subcmd__help__subcmd__user,set-role)
                cmd="rolegate__subcmd__help__subcmd__user__subcmd__set__subcmd__role"
                ;;
            rolegate__subcmd__help__subcmd__user,show)
                cmd="rolegate__subcmd__help__subcmd__user__subcmd__show"
                ;;
            rolegate__subcmd__user,create)
                cmd="rolegate__subcmd__user__subcmd__create"
                ;;
            rolegate__subcmd__user,create-key)
                cmd="rolegate__subcmd__user__subcmd__create__subcmd__key"
                ;;
            rolegate__subcmd__user,delete)
                cmd="rolegate__subcmd__user__subcmd__delete"
                ;;
            rolegate__subcmd__user,delete-key)
                cmd="rolegate__subcmd__user__subcmd__delete__subcmd__key"
                ;;
            rolegate__subcmd__user,disable)
                cmd="rolegate__subcmd__user__subcmd__disable"
                ;;
            rolegate__subcmd__user,enable)
                cmd="rolegate__subcmd__user__subcmd__enable"
                ;;
            rolegate__subcmd__user,end-all)
                cmd="rolegate__subcmd__user__subcmd__end__subcmd__all"
                ;;
            rolegate__subcmd__user,erase-audit)
                cmd="rolegate__subcmd__user__subcmd__erase__subcmd__audit"
                ;;
            rolegate__subcmd__user,export)
                cmd="rolegate__subcmd__user__subcmd__export"
                ;;
            rolegate__subcmd__user,help)
                cmd="rolegate__subcmd__user__subcmd__help"
                ;;
            rolegate__subcmd__user,import)
                cmd="rolegate__subcmd__user__subcmd__import"
                ;;
            rolegate__subcmd__user,keys)
                cmd="rolegate__subcmd__user__subcmd__keys"
                ;;
            rolegate__subcmd__user,list)
                cmd="rolegate__subcmd__user__subcmd__list"
                ;;
            rolegate__subcmd__user,password-link)
                cmd="rolegate__subcmd__user__subcmd__password__subcmd__link"
                ;;
            rolegate__subcmd__user,remove-second-factor)
                cmd="rolegate__subcmd__user__subcmd__remove__subcmd__second__subcmd__factor"
                ;;
            rolegate__subcmd__user,rename)
                cmd="rolegate__subcmd__user__subcmd__rename"
                ;;
            rolegate__subcmd__user,reset-password)
                cmd="rolegate__subcmd__user__subcmd__reset__subcmd__password"
                ;;
            rolegate__subcmd__user,revoke-tokens)
                cmd="rolegate__subcmd__user__subcmd__revoke__subcmd__tokens"
                ;;
            rolegate__subcmd__user,set-role)
                cmd="rolegate__subcmd__user__subcmd__set__subcmd__role"
                ;;
            rolegate__subcmd__user,show)
                cmd="rolegate__subcmd__user__subcmd__show"
                ;;
            rolegate__subcmd__user__subcmd__help,create)
                cmd="rolegate__subcmd__user__subcmd__help__subcmd__create"
                ;;
            rolegate__subcmd__user__subcmd__help,create-key)
                cmd="rolegate__subcmd__user__subcmd__help__subcmd__create__subcmd__key"
                ;;
            rolegate__subcmd__user__subcmd__help,delete)
                cmd="rolegate__subcmd__user__subcmd__help__subcmd__delete"
                ;;
            rolegate__subcmd__user__subcmd__help,delete-key)
                cmd="rolegate__subcmd__user__subcmd__help__subcmd__delete__subcmd__key"
                ;;
            rolegate__subcmd__user__subcmd__help,disable)
                cmd="rolegate__subcmd__user__subcmd__help__subcmd__disable"
                ;;
            rolegate__subcmd__user__subcmd__help,enable)
                cmd="rolegate__subcmd__user__subcmd__help__subcmd__enable"
                ;;
            rolegate__subcmd__user__subcmd__help,end-all)
                cmd="rolegate__subcmd__user__subcmd__help__subcmd__end__subcmd__all"
                ;;
            rolegate__subcmd__user__subcmd__help,erase-audit)
                cmd="rolegate__subcmd__user__subcmd__help__subcmd__erase__subcmd__audit"
                ;;
            rolegate__subcmd__user__subcmd__help,export)
                cmd="rolegate__subcmd__user__subcmd__help__subcmd__export"
                ;;
            rolegate__subcmd__user__subcmd__help,help)
                cmd="rolegate__subcmd__user__subcmd__help__subcmd__help"
                ;;
            rolegate__subcmd__user__subcmd__help,import)
                cmd="rolegate__subcmd__user__subcmd__help__subcmd__import"
                ;;
            rolegate__subcmd__user__subcmd__help,keys)
                cmd="rolegate__subcmd__user__subcmd__help__subcmd__keys"
                ;;
            rolegate__subcmd__user__subcmd__help,list)
                cmd="rolegate__subcmd__user__subcmd__help__subcmd__list"
                ;;
            rolegate__subcmd__user__subcmd__help,password-link)
                cmd="rolegate__subcmd__user__subcmd__help__subcmd__password__subcmd__link"
                ;;
            rolegate__subcmd__user__subcmd__help,remove-second-factor)
                cmd="rolegate__subcmd__user__subcmd__help__subcmd__remove__subcmd__second__subcmd__factor"
                ;;
            rolegate__subcmd__user__subcmd__help,rename)
                cmd="rolegate__subcmd__user__subcmd__help__subcmd__rename"
                ;;
            rolegate__subcmd__user__subcmd__help,reset-password)
                cmd="rolegate__subcmd__user__subcmd__help__subcmd__reset__subcmd__password"
                ;;
            rolegate__subcmd__user__subcmd__help,revoke-tokens)
                cmd="rolegate__subcmd__user__subcmd__help__subcmd__revoke__subcmd__tokens"
                ;;
            rolegate__subcmd__user__subcmd__help,set-role)
                cmd="rolegate__subcmd__user__subcmd__help__subcmd__set__subcmd__role"
                ;;
            rolegate__subcmd__user__subcmd__help,show)
                cmd="rolegate__subcmd__user__subcmd__help__subcmd__show"
                ;;
            *)
                ;;
        esac
    done

    case "${cmd}" in
        rolegate)
            opts="-h -V --auth-listen-addr --posts --posts-listen-addr --ops-listen-addr --database-url --database-url-file --posts-database-url --posts-database-url-file --share-database --posts-of-deleted-users --data-dir --database-reads --signing-secret --signing-secret-file --signing-secrets-accepted --signing-secrets-accepted-file --second-factor-key --second-factor-key-file --second-factor-keys-accepted --second-factor-keys-accepted-file --default-admin-password --default-admin-password-file --password-pepper --password-pepper-file --password-min-length --password-blocklist-file --admins-set-passwords --bcrypt-cost --bcrypt-threads --bcrypt-lanes --basic-cache-ttl-seconds --registration --second-factor --extra-roles --session-idle-seconds --session-max-seconds --audit-retention-days --sign-in --sign-in-url --cookie-domain --return-origins --sign-in-title --sign-in-help --login-failure-limit --registration-limit --auth-tls-cert-file --auth-tls-key-file --auth-tls-client-ca-file --user-changes-certificates --bearer-listen-addr --basic-listen-addr --forward-auth-listen-addr --trusted-proxies --console --api-docs --sign-in-logo-file --cors-allowed-origins --max-connections-per-address --request-memory-mib --response-memory-mib --forward-auth-tls-cert-file --forward-auth-tls-key-file --forward-auth-tls-client-ca-file --posts-tls-cert-file --posts-tls-key-file --posts-tls-client-ca-file --lame-duck-seconds --log-format --rust-log --otel-exporter-otlp-endpoint --help --version serve healthcheck doctor migrate user audit backup restore accept-history help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 1 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --auth-listen-addr)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --posts)
                    COMPREPLY=($(compgen -W "on off" -- "${cur}"))
                    return 0
                    ;;
                --posts-listen-addr)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --ops-listen-addr)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --database-url)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --database-url-file)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --posts-database-url)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --posts-database-url-file)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --share-database)
                    COMPREPLY=($(compgen -W "on off" -- "${cur}"))
                    return 0
                    ;;
                --posts-of-deleted-users)
                    COMPREPLY=($(compgen -W "keep delete" -- "${cur}"))
                    return 0
                    ;;
                --data-dir)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --database-reads)
                    COMPREPLY=($(compgen -W "primary quorum" -- "${cur}"))
                    return 0
                    ;;
                --signing-secret)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --signing-secret-file)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --signing-secrets-accepted)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --signing-secrets-accepted-file)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --second-factor-key)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --second-factor-key-file)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --second-factor-keys-accepted)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --second-factor-keys-accepted-file)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --default-admin-password)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --default-admin-password-file)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --password-pepper)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --password-pepper-file)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --password-min-length)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --password-blocklist-file)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --admins-set-passwords)
                    COMPREPLY=($(compgen -W "on off" -- "${cur}"))
                    return 0
                    ;;
                --bcrypt-cost)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --bcrypt-threads)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --bcrypt-lanes)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --basic-cache-ttl-seconds)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --registration)
                    COMPREPLY=($(compgen -W "open closed" -- "${cur}"))
                    return 0
                    ;;
                --second-factor)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --extra-roles)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --session-idle-seconds)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --session-max-seconds)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --audit-retention-days)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --sign-in)
                    COMPREPLY=($(compgen -W "on off" -- "${cur}"))
                    return 0
                    ;;
                --sign-in-url)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --cookie-domain)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --return-origins)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --sign-in-title)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --sign-in-help)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --login-failure-limit)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --registration-limit)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --auth-tls-cert-file)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --auth-tls-key-file)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --auth-tls-client-ca-file)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --user-changes-certificates)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --bearer-listen-addr)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --basic-listen-addr)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --forward-auth-listen-addr)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --trusted-proxies)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --console)
                    COMPREPLY=($(compgen -W "on off" -- "${cur}"))
                    return 0
                    ;;
                --api-docs)
                    COMPREPLY=($(compgen -W "on off" -- "${cur}"))
                    return 0
                    ;;
                --sign-in-logo-file)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --cors-allowed-origins)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --max-connections-per-address)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --request-memory-mib)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --response-memory-mib)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --forward-auth-tls-cert-file)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --forward-auth-tls-key-file)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --forward-auth-tls-client-ca-file)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --posts-tls-cert-file)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --posts-tls-key-file)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --posts-tls-client-ca-file)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --lame-duck-seconds)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --log-format)
                    COMPREPLY=($(compgen -W "pretty json" -- "${cur}"))
                    return 0
                    ;;
                --rust-log)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --otel-exporter-otlp-endpoint)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__accept__subcmd__history)
            opts="-h --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__audit)
            opts="-h --help list export verify help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__audit__subcmd__export)
            opts="-h --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__audit__subcmd__help)
            opts="list export verify help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__audit__subcmd__help__subcmd__export)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__audit__subcmd__help__subcmd__help)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__audit__subcmd__help__subcmd__list)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__audit__subcmd__help__subcmd__verify)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__audit__subcmd__list)
            opts="-h --user-id --actor-id --event --limit --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --user-id)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --actor-id)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --event)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --limit)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__audit__subcmd__verify)
            opts="-h --seal --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --seal)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__backup)
            opts="-h --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__doctor)
            opts="-h --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__healthcheck)
            opts="-h --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__help)
            opts="serve healthcheck doctor migrate user audit backup restore accept-history help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__help__subcmd__accept__subcmd__history)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__help__subcmd__audit)
            opts="list export verify"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__help__subcmd__audit__subcmd__export)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__help__subcmd__audit__subcmd__list)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__help__subcmd__audit__subcmd__verify)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__help__subcmd__backup)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__help__subcmd__doctor)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__help__subcmd__healthcheck)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__help__subcmd__help)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__help__subcmd__migrate)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__help__subcmd__restore)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__help__subcmd__serve)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__help__subcmd__user)
            opts="create list show disable enable delete rename set-role reset-password password-link remove-second-factor revoke-tokens end-all create-key keys delete-key erase-audit import export"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__help__subcmd__user__subcmd__create)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__help__subcmd__user__subcmd__create__subcmd__key)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__help__subcmd__user__subcmd__delete)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__help__subcmd__user__subcmd__delete__subcmd__key)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__help__subcmd__user__subcmd__disable)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__help__subcmd__user__subcmd__enable)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__help__subcmd__user__subcmd__end__subcmd__all)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__help__subcmd__user__subcmd__erase__subcmd__audit)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__help__subcmd__user__subcmd__export)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__help__subcmd__user__subcmd__import)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__help__subcmd__user__subcmd__keys)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__help__subcmd__user__subcmd__list)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__help__subcmd__user__subcmd__password__subcmd__link)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__help__subcmd__user__subcmd__remove__subcmd__second__subcmd__factor)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__help__subcmd__user__subcmd__rename)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__help__subcmd__user__subcmd__reset__subcmd__password)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__help__subcmd__user__subcmd__revoke__subcmd__tokens)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__help__subcmd__user__subcmd__set__subcmd__role)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__help__subcmd__user__subcmd__show)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__migrate)
            opts="-h --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__restore)
            opts="-h --replace --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__serve)
            opts="-h --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__user)
            opts="-h --help create list show disable enable delete rename set-role reset-password password-link remove-second-factor revoke-tokens end-all create-key keys delete-key erase-audit import export help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 2 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__user__subcmd__create)
            opts="-h --role --new-password-file --link --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --role)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --new-password-file)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__user__subcmd__create__subcmd__key)
            opts="-h --name --role --expires-in --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --name)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --role)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --expires-in)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__user__subcmd__delete)
            opts="-h --yes --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__user__subcmd__delete__subcmd__key)
            opts="-h --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__user__subcmd__disable)
            opts="-h --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__user__subcmd__enable)
            opts="-h --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__user__subcmd__end__subcmd__all)
            opts="-h --keys --yes --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__user__subcmd__erase__subcmd__audit)
            opts="-h --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__user__subcmd__export)
            opts="-h --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__user__subcmd__help)
            opts="create list show disable enable delete rename set-role reset-password password-link remove-second-factor revoke-tokens end-all create-key keys delete-key erase-audit import export help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__user__subcmd__help__subcmd__create)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__user__subcmd__help__subcmd__create__subcmd__key)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__user__subcmd__help__subcmd__delete)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__user__subcmd__help__subcmd__delete__subcmd__key)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__user__subcmd__help__subcmd__disable)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__user__subcmd__help__subcmd__enable)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__user__subcmd__help__subcmd__end__subcmd__all)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__user__subcmd__help__subcmd__erase__subcmd__audit)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__user__subcmd__help__subcmd__export)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__user__subcmd__help__subcmd__help)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__user__subcmd__help__subcmd__import)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__user__subcmd__help__subcmd__keys)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__user__subcmd__help__subcmd__list)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__user__subcmd__help__subcmd__password__subcmd__link)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__user__subcmd__help__subcmd__remove__subcmd__second__subcmd__factor)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__user__subcmd__help__subcmd__rename)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__user__subcmd__help__subcmd__reset__subcmd__password)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__user__subcmd__help__subcmd__revoke__subcmd__tokens)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__user__subcmd__help__subcmd__set__subcmd__role)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__user__subcmd__help__subcmd__show)
            opts=""
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 4 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__user__subcmd__import)
            opts="-h --dry-run --continue --skip-existing --reuse-ids --accept-slow-hashes --accept-weak-hashes --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__user__subcmd__keys)
            opts="-h --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__user__subcmd__list)
            opts="-h --role --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --role)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__user__subcmd__password__subcmd__link)
            opts="-h --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__user__subcmd__remove__subcmd__second__subcmd__factor)
            opts="-h --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__user__subcmd__rename)
            opts="-h --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__user__subcmd__reset__subcmd__password)
            opts="-h --new-password-file --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --new-password-file)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__user__subcmd__revoke__subcmd__tokens)
            opts="-h --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__user__subcmd__set__subcmd__role)
            opts="-h --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
        rolegate__subcmd__user__subcmd__show)
            opts="-h --help"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 3 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
    esac
}

if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -F _rolegate -o nosort -o bashdefault -o default rolegate
else
    complete -F _rolegate -o bashdefault -o default rolegate
fi
