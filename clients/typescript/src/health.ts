/**
 * A load balancing policy that sends calls in turn to the replicas whose health is `SERVING` (`grpc.health.v1`).
 *
 * grpc-js does not check health by itself. Its interface for policies is experimental, so package.json allows no
 * other minor version of grpc-js.
 */

import {
  Client,
  type ClientReadableStream,
  connectivityState,
  credentials,
  experimental,
  status,
} from "@grpc/grpc-js";
import { BinaryReader, BinaryWriter } from "@bufbuild/protobuf/wire";
import { protobufPackage } from "./generated/rolegate/auth/v1/auth.js";

/** The name of the policy in a service config. */
export const POLICY = "rolegate_serving_round_robin";
const SERVICE = `${protobufPackage}.AuthService`;
const SERVING = 1;
/** The delay in milliseconds before a new watch, if a watch has ended on an open connection. */
const RETRY_DELAY = 1_000;

/**
 * A connection to a replica, with a watch of the replica's health. It counts as healthy until the watch reports
 * that the replica does not serve.
 */
class WatchedSubchannel extends experimental.BaseSubchannelWrapper {
  #watch: ClientReadableStream<number> | undefined;
  #retry: NodeJS.Timeout | undefined;
  readonly #follow: experimental.ConnectivityStateListener = (_, __, state) => {
    this.#stop();
    if (state === connectivityState.READY) this.#start();
    else this.setHealthy(true);
  };

  constructor(readonly inner: experimental.SubchannelInterface) {
    super(inner);
    inner.addConnectivityStateListener(this.#follow);
    if (inner.getConnectivityState() === connectivityState.READY) this.#start();
  }

  protected override destroy(): void {
    this.inner.removeConnectivityStateListener(this.#follow);
    this.#stop();
    super.destroy();
  }

  #start(): void {
    const channelOverride = this.inner.getChannel();
    const client = new Client("unused", credentials.createInsecure(), { channelOverride });
    const watch = client.makeServerStreamRequest(
      "/grpc.health.v1.Health/Watch",
      (service: string) => Buffer.from(new BinaryWriter().uint32(10).string(service).finish()),
      statusOf,
      SERVICE,
    );
    watch.on("data", (reported: number) => this.setHealthy(reported === SERVING));
    // A failure also arrives as a status. Without a listener, the error would end the process.
    watch.on("error", () => {});
    watch.on("status", ({ code }) => {
      if (watch !== this.#watch || code === status.UNIMPLEMENTED) return;
      this.#retry = setTimeout(() => this.#start(), RETRY_DELAY).unref();
    });
    this.#watch = watch;
  }

  #stop(): void {
    clearTimeout(this.#retry);
    const watch = this.#watch;
    this.#watch = undefined;
    watch?.cancel();
  }
}

/** Decodes the status from a `HealthCheckResponse`. */
function statusOf(bytes: Buffer): number {
  const reader = new BinaryReader(bytes);
  let reported = 0;
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    if (tag === 8) reported = reader.int32();
    else reader.skip(tag & 7);
  }
  return reported;
}

class Config implements experimental.TypedLoadBalancingConfig {
  getLoadBalancerName(): string {
    return POLICY;
  }

  toJsonObject(): object {
    return { [POLICY]: {} };
  }

  static createFromJson(): Config {
    return new Config();
  }
}

class ServingRoundRobin implements experimental.LoadBalancer {
  readonly #child: experimental.ChildLoadBalancerHandler;

  constructor(helper: experimental.ChannelControlHelper) {
    const watching: Partial<experimental.ChannelControlHelper> = {
      createSubchannel: (...args) => new WatchedSubchannel(helper.createSubchannel(...args)),
      updateState: (state, picker, message) => {
        // The channel must get its own subchannel, without the wrapper. Outlier detection of grpc-js does the same.
        const unwrapped = { pick: (args: experimental.PickArgs) => unwrap(picker.pick(args)) };
        helper.updateState(state, unwrapped, message);
      },
    };
    const control = experimental.createChildChannelControlHelper(helper, watching);
    this.#child = new experimental.ChildLoadBalancerHandler(control);
  }

  updateAddressList(...[endpoints, , options, note]: Parameters<experimental.LoadBalancer["updateAddressList"]>) {
    const inTurn = experimental.parseLoadBalancingConfig({ round_robin: {} });
    return this.#child.updateAddressList(endpoints, inTurn, options, note);
  }

  exitIdle(): void {
    this.#child.exitIdle();
  }

  resetBackoff(): void {
    this.#child.resetBackoff();
  }

  destroy(): void {
    this.#child.destroy();
  }

  getTypeName(): string {
    return POLICY;
  }
}

function unwrap(pick: experimental.PickResult): experimental.PickResult {
  const { subchannel } = pick;
  return subchannel instanceof WatchedSubchannel ? { ...pick, subchannel: subchannel.inner } : pick;
}

experimental.registerLoadBalancerType(POLICY, ServingRoundRobin, Config);
