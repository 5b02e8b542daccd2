/** Turns gRPC statuses into errors. */

import { Metadata, type ServiceError, status } from "@grpc/grpc-js";
import { DeadlineExceeded, refusal, RolegateError, Unavailable } from "./errors.js";
import { ErrorInfo, RetryInfo } from "./generated/google/rpc/error_details.js";
import { Status } from "./generated/google/rpc/status.js";

const DOMAIN = "rolegate";

/**
 * Returns the error for a failed call. A status without Rolegate's `ErrorInfo` does not come from the service,
 * so it is no decision.
 *
 * A server that ends a call at its deadline and a broken connection may have the same code. `isOverdue` tells them
 * apart.
 */
export function errorOf(
  error: Pick<ServiceError, "code" | "details" | "metadata">,
  isOverdue: boolean,
): RolegateError {
  const refused = refusedOf(error.metadata, error.details);
  if (refused) return refused;
  const isTimeout = error.code === status.DEADLINE_EXCEEDED || error.code === status.CANCELLED;
  return isOverdue && isTimeout ? new DeadlineExceeded() : new Unavailable(error.details);
}

function refusedOf(metadata: Metadata | undefined, text: string): RolegateError | undefined {
  const [raw] = metadata?.get("grpc-status-details-bin") ?? [];
  if (!Buffer.isBuffer(raw)) return undefined;
  try {
    const details = Status.decode(raw).details;
    const find = (name: string) =>
      details.find((detail) => detail.typeUrl.endsWith(`/google.rpc.${name}`))?.value;
    const infoBytes = find("ErrorInfo");
    const info = infoBytes && ErrorInfo.decode(infoBytes);
    if (info?.domain !== DOMAIN) return undefined;
    const refused = refusal(info.reason, text);
    const retryBytes = find("RetryInfo");
    const delay = retryBytes && RetryInfo.decode(retryBytes).retryDelay;
    if (delay) refused.retryAfter = Number(delay.seconds) + delay.nanos / 1e9;
    return refused;
  } catch {
    // Bytes that cannot be decoded do not come from the service.
    return undefined;
  }
}
