import { defineErrors } from 'zin'

export const observabilityErrors = defineErrors({
  METRICS_PORT_UNAVAILABLE: {
    message: (host: string, port: number, why: string) => `Metrics cannot be served on ${host}:${port}: ${why}`,
    when: '`METRICS_PORT` is in use or requires more permissions, or `METRICS_HOST` is not an address of this machine; the app does not start',
    fix: 'Change the setting that the message names; each process on a machine needs its own `METRICS_PORT`',
  },
  OPENTELEMETRY_MISCONFIGURED: {
    message: (setting: string, why: string) => `${setting} ${why}`,
    when: 'A setting of OpenTelemetry or APM cannot be used; the app does not start',
    fix: 'Correct the setting that the message names',
  },
})
