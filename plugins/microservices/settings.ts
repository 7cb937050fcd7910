import { defineSettings } from 'zin'

export const microserviceSettings = defineSettings({
  MICROSERVICES: { type: 'bool', default: false, summary: 'Whether services are discovered in `src/services`' },
  ENABLE_MICROSERVICES: { type: 'bool', default: false, summary: 'Earlier name of `MICROSERVICES`, used where that is not set' },
  SERVICES: {
    type: 'list',
    default: [],
    summary: 'Names of the discovered services to use, separated by commas; empty: all. The others keep their ports',
  },
  MICROSERVICES_TRACING: {
    type: 'bool',
    default: false,
    summary: 'Whether requests without a trace begin one, and sampled requests are logged with it',
  },
  MICROSERVICES_TRACING_RATE: {
    type: 'number',
    default: 1,
    min: 0,
    max: 1,
    summary: 'Share of the traces that are sampled, decided from the trace id; a service can set its own',
  },
  DATABASE_ISOLATION: {
    type: 'enum',
    default: 'shared',
    values: ['shared', 'isolated'],
    summary: 'Database of services whose configuration says nothing of it: that of the app, or one of their own',
  },
  SERVICE_API_KEY: {
    type: 'string',
    default: '',
    secret: true,
    summary: 'Key of services with the strategy `api-key`; at least 32 bytes in production',
  },
  SERVICE_JWT_SECRET: {
    type: 'string',
    default: '',
    secret: true,
    summary: 'Secret of the tokens (HS256) of services with the strategy `jwt`; at least 32 bytes in production',
  },
  SERVICE_SIGNING_SECRET: {
    type: 'string',
    default: '',
    secret: true,
    summary: 'Secret from which the keys of services with the strategy `signed` are derived; at least 32 bytes in production',
  },
})
