import type { PackageUse, PackageUses, SettingValues } from 'zin'
import type { observabilitySettings } from './settings.js'

type Settings = SettingValues<typeof observabilitySettings>

const traced: PackageUse<object, Settings> = {
  when: 'WORKER_OPENTELEMETRY_ENABLED or APM_ENABLED is true',
  needed: ({ settings }) => settings.WORKER_OPENTELEMETRY_ENABLED || settings.APM_ENABLED,
  added: false,
}

/** Metrics need one small package; traces need those of OpenTelemetry, 27 MB. */
export const observabilityPackages: PackageUses<object, Settings> = {
  'prom-client': { when: 'METRICS_EXPORT_ENABLED is true', needed: ({ settings }) => settings.METRICS_EXPORT_ENABLED },
  '@opentelemetry/api': traced,
  '@opentelemetry/exporter-metrics-otlp-http': traced,
  '@opentelemetry/exporter-trace-otlp-http': traced,
  '@opentelemetry/resources': traced,
  '@opentelemetry/sdk-metrics': traced,
  '@opentelemetry/sdk-trace-base': traced,
  'bullmq-otel': traced,
}
