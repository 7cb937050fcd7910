import { defineSettings } from 'zin'

export const observabilitySettings = defineSettings({
  METRICS_EXPORT_ENABLED: {
    type: 'bool',
    default: false,
    summary: 'Whether metrics are collected and served in Prometheus format, on `METRICS_PORT` and as `GET /metrics` of the app',
  },
  METRICS_PORT: {
    type: 'int',
    default: 9090,
    min: 0,
    max: 65_535,
    summary: 'Port that serves `/metrics` without credentials; 0 picks a free port. Each process on a machine needs its own',
  },
  METRICS_HOST: {
    type: 'string',
    default: '127.0.0.1',
    pattern: '^[A-Za-z0-9.:_-]{1,253}$',
    form: 'a host name or an IP address',
    summary: 'Address that `METRICS_PORT` binds to; `0.0.0.0` for a Prometheus on another machine',
  },
  WORKER_OPENTELEMETRY_ENABLED: {
    type: 'bool',
    default: false,
    summary: 'Whether requests, jobs, queries and outgoing calls are traced, and traces and metrics are sent by OTLP',
  },
  WORKER_OPENTELEMETRY_ENDPOINT: {
    type: 'string',
    default: 'http://127.0.0.1:4318',
    summary: 'Endpoint for OTLP over HTTP; data is sent to `<endpoint>/v1/traces` and `<endpoint>/v1/metrics`',
  },
  WORKER_OPENTELEMETRY_SAMPLING_RATIO: {
    type: 'number',
    default: 1,
    min: 0,
    max: 1,
    summary:
      'Share of the traces beginning in this app that are recorded, decided from the trace id; other traces keep the decision of their caller',
  },
  APM_ENABLED: {
    type: 'bool',
    default: false,
    summary: 'Whether traces and metrics are sent to a hosted service with `APM_API_KEY`; turns OpenTelemetry on',
  },
  APM_API_KEY: { type: 'string', default: '', secret: true, summary: 'API key sent with OTLP while `APM_ENABLED` is true' },
  APM_API_KEY_HEADER: {
    type: 'string',
    default: 'api-key',
    pattern: '^[A-Za-z0-9-]{1,100}$',
    form: 'the name of a header: 1 to 100 letters, digits or -',
    summary: 'Header that carries `APM_API_KEY`; with `authorization`, it is sent as a bearer token',
  },
})
