import type { EgressRules } from 'zin'
import type { Queues } from 'zin/plugins/queues'
import type { Credentials } from '../access/credentials.js'
import { actionFault, endpointOfAction, endpointOfAttention } from '../alerts/actions.js'
import { thresholdsIn } from '../alerts/thresholds.js'
import type { AssembleInput } from '../assemble.js'
import { monitorErrors } from '../errors.js'
import type { QueueMonitorOptions } from '../options.js'
import { type Endpoint, endpointsOf, urlFault } from '../webhooks/endpoint.js'
import { Endpoints } from '../webhooks/endpoints.js'
import { Webhooks } from '../webhooks/webhooks.js'
import { Deliveries } from './deliveries.js'
import { sendEmail } from './email.js'
import { DeliveryLog } from './log.js'
import { OutcomeLog } from './outcomes.js'
import { defaultRetries } from './retry.js'
import { type SendParts, sendSlack, sendWebhook } from './send.js'
import { secretFault } from './signature.js'

export interface DeliveryAssembly {
  readonly deliveryLog: DeliveryLog
  readonly endpoints: Endpoints
  readonly outcomes: OutcomeLog
  readonly webhooks: Webhooks
  /** Throws WEBHOOK_OPTIONS for options that cannot work. */
  readonly check: () => void
}

/** Creates the components that deliver events and alerts. */
export function assembleDelivery(
  { clock, hooks, log, manage, options, services }: AssembleInput,
  visible: Queues,
  keys: Credentials,
): DeliveryAssembly {
  const { cluster, kv, queues } = services
  const { delivery = {}, smtp, webhookSecret = [] } = options.monitor
  const secrets = [webhookSecret].flat()
  const rules = rulesOf(delivery)
  const configured = configuredEndpoints(options.monitor)
  const onWebhookChange = hooks.slot('onWebhookChange')
  const endpoints = new Endpoints({
    kv,
    cluster,
    clock,
    configured,
    signs: secrets.length > 0,
    rules,
    onWebhookChange,
    manage,
    keys,
    onTrouble: (trouble) => webhooks.trouble(trouble),
  })
  const timeoutMs = delivery.timeout ?? 10_000
  const parts: SendParts = { rules, egress: {}, timeoutMs, secrets, now: () => clock.now() }
  const limits = {
    retries: delivery.retries ?? defaultRetries,
    concurrency: delivery.concurrency ?? 20,
    backlog: delivery.backlog ?? 5_000,
  }
  const outcomes = new OutcomeLog(kv, log)
  const deliveries = new Deliveries({
    queues,
    endpoints,
    outcomes,
    send: { webhook: sendWebhook(parts), slack: sendSlack(parts), email: sendEmail(smtp, timeoutMs, clock, log) },
    limits,
    clock,
    log,
    onTrouble: (trouble) => webhooks.trouble(trouble),
  })
  const deliveryLog = new DeliveryLog({
    queues,
    endpoints,
    limits,
    clock,
    manage,
    onWebhookChange,
    onResent: (endpoint) => deliveries.resent(endpoint),
  })
  const webhooks = new Webhooks({
    cluster,
    queues: visible,
    kv,
    endpoints,
    deliveries,
    clock,
    log,
    decisions: () => services.decisions,
    mostFollowed: delivery.queues ?? 200,
  })
  return { deliveryLog, endpoints, outcomes, webhooks, check: () => check(options.monitor, configured, secrets, rules) }
}

/** Plain HTTP sends bodies unencrypted, so it is allowed only together with private networks. */
function rulesOf({ allowHosts, allowPrivate = false }: NonNullable<QueueMonitorOptions['monitor']['delivery']>): EgressRules {
  return { allowPrivate, schemes: allowPrivate ? ['https:', 'http:'] : ['https:'], ...(allowHosts === undefined ? {} : { allowHosts }) }
}

function configuredEndpoints(config: QueueMonitorOptions['monitor']): readonly Endpoint[] {
  const ofAlerts = thresholdsIn(config).flatMap(([rule, action]) => endpointOfAction(rule, action) ?? [])
  const { attention } = config.alerts ?? {}
  return [...endpointsOf(config.webhooks ?? []), ...ofAlerts, ...(attention === undefined ? [] : [endpointOfAttention(attention)])]
}

function check(
  config: QueueMonitorOptions['monitor'],
  configured: readonly Endpoint[],
  secrets: readonly string[],
  rules: EgressRules,
): void {
  const { attention } = config.alerts ?? {}
  for (const [rule, action] of [...thresholdsIn(config), ...(attention === undefined ? [] : [['attention', attention] as const])]) {
    const fault = actionFault(action, config.smtp !== undefined)
    if (fault !== undefined) throw monitorErrors.WEBHOOK_OPTIONS(`the alert ${rule}: ${fault}`)
  }
  for (const secret of secrets) {
    const fault = secretFault(secret)
    if (fault !== undefined) throw monitorErrors.WEBHOOK_OPTIONS(`a secret in monitor.webhookSecret ${fault}`)
  }
  for (const { channel, description, url } of configured) {
    if (channel === 'email') continue
    const where = description === '' ? 'monitor.webhooks' : description
    const fault = urlFault(url, rules)
    if (fault !== undefined) throw monitorErrors.WEBHOOK_OPTIONS(`${where}: ${fault}`)
    if (channel === 'webhook' && secrets.length === 0) {
      throw monitorErrors.WEBHOOK_OPTIONS(
        `${where} requires monitor.webhookSecret: whsec_ followed by the base64 of at least 24 random bytes`,
      )
    }
  }
  const twice = configured.find(({ id }, i) => configured.findIndex((one) => one.id === id) !== i)
  if (twice !== undefined) throw monitorErrors.WEBHOOK_OPTIONS('monitor.webhooks contains a duplicate endpoint')
}
