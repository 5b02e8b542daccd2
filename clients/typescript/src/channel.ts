/** The address of auth-service, and the options of channels to it. */

import { type ChannelCredentials, type ChannelOptions, credentials } from "@grpc/grpc-js";
import { readFileSync } from "node:fs";
import { POLICY } from "./health.js";

/** The PEM files of TLS connections. They are read once, when the client is created. */
export interface Tls {
  readonly caFile: string;
  readonly certFile?: string | undefined;
  readonly keyFile?: string | undefined;
}

/** The address of auth-service, with the credentials of a channel to it. */
export interface Address {
  readonly target: string;
  readonly credentials: ChannelCredentials;
}

/** Calls go to the serving replicas in turn. No configuration in DNS and no proxy of the environment changes that. */
export const OPTIONS: ChannelOptions = {
  "grpc.service_config": JSON.stringify({ loadBalancingConfig: [{ [POLICY]: {} }] }),
  "grpc.service_config_disable_resolution": 1,
  "grpc.enable_http_proxy": 0,
  // Password calls have connections of their own, because a flood of logins delays all calls on its connections.
  "grpc.use_local_subchannel_pool": 1,
  // The client connects to a replica that comes back after at most this time.
  "grpc.initial_reconnect_backoff_ms": 100,
  "grpc.max_reconnect_backoff_ms": 2_000,
  "grpc.dns_min_time_between_resolutions_ms": 2_000,
  // Pings detect dead peers.
  "grpc.keepalive_time_ms": 10_000,
  "grpc.keepalive_timeout_ms": 5_000,
};

/**
 * Parses a URL with host and port. Its scheme must be `https` with `tls`, and `http` without. Throws a
 * `TypeError` for any other URL.
 */
export function parseAddress(url: string, tls: Tls | undefined): Address {
  const scheme = tls ? "https" : "http";
  const match = new RegExp(`^${scheme}://([^/@?#\\s]+:[1-9]\\d{0,4})/?$`).exec(url);
  // The message does not contain the URL, which may contain a password.
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

/**
 * Reads the URL and the TLS files from the variables of Rolegate's programs: `AUTH_SERVICE_URL` and
 * `AUTH_CLIENT_TLS_{CA,CERT,KEY}_FILE`.
 */
export function settingsFromEnv(): [string, Tls | undefined] {
  const { AUTH_CLIENT_TLS_CA_FILE: caFile, ...env } = process.env;
  const [certFile, keyFile] = [env["AUTH_CLIENT_TLS_CERT_FILE"], env["AUTH_CLIENT_TLS_KEY_FILE"]];
  const url = env["AUTH_SERVICE_URL"] ?? "http://127.0.0.1:50051";
  return [url, caFile ? { caFile, certFile, keyFile } : undefined];
}
