import { defineErrors } from 'zin'

export const observabilityErrors = defineErrors({
  METRICS_PORT_UNAVAILABLE: {
    message: (host: string, port: number, why: string) => `Metrics cannot be served on ${host}:${port}: ${why}`,
    when: '`METRICS_PORT` is in use or needs more permissions, or `METRICS_HOST` is no address of this machine; the app does not start',
    fix: 'Set the setting that the message names; each process of a machine needs a `METRICS_PORT` of its own',
  },
  OPENTELEMETRY_MISCONFIGURED: {
    message: (setting: string, why: string) => `${setting} ${why}`,
    when: 'A setting of OpenTelemetry or APM cannot be used; the app does not start',
    fix: 'Correct the setting that the message names',
  },
})
