import { defineErrors } from 'zin'

export const observabilityErrors = defineErrors({
  METRICS_PORT_UNAVAILABLE: {
    message: (host: string, port: number, why: string) =>
      `Metrics cannot be served on ${host}:${port}: ${why}. Set METRICS_PORT to a free port (0 takes any) and METRICS_HOST to an address of this machine, or stop what uses the port`,
    when: '`METRICS_PORT` is in use, or `METRICS_HOST` is no address of this machine; the app does not start',
    fix: 'Set `METRICS_PORT` to a free port, one for each process of the machine',
  },
  OPENTELEMETRY_MISCONFIGURED: {
    message: (setting: string, why: string) => `${setting} ${why}`,
    when: 'A setting of OpenTelemetry or APM cannot be used; the app does not start',
    fix: 'Correct the setting that the message names',
  },
})
