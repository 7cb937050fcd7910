import type { EnvSource } from '../config/read-settings.js'
import type { ZinConfig } from './define-config.js'
import type { HostView } from './view.js'

/** Time between readiness 503 and closing the port, in ms. */
export function shutdownDelay({ shutdown }: ZinConfig, env: EnvSource): number {
  return shutdown?.delayMs ?? (env.values.KUBERNETES_SERVICE_HOST ? 5_000 : 0)
}

/** Warns of a production app that closes its port before a load balancer can notice. */
export function delayWarnings(config: ZinConfig, env: EnvSource, { production }: HostView['app']): readonly string[] {
  if (!production || shutdownDelay(config, env) > 0) return []
  return [
    'shutdown.delayMs is 0: a load balancer sends requests to the closed port until it notices that /health/ready fails. Set the delay to the interval of its checks × the failures that it needs, plus 1000 ms',
  ]
}
