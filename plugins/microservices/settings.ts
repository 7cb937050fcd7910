import { defineSettings } from 'zin'

export const microserviceSettings = defineSettings({
  MICROSERVICES: { type: 'bool', default: false, summary: 'Whether services are discovered in `src/services`' },
  ENABLE_MICROSERVICES: { type: 'bool', default: false, summary: 'Former name of `MICROSERVICES`; used if that is not set' },
  SERVICES: {
    type: 'list',
    default: [],
    summary: 'Comma-separated names of the discovered services to use; empty: all. Services left out keep their ports',
  },
  MICROSERVICES_TRACING: {
    type: 'bool',
    default: false,
    summary: 'Whether requests without a trace start one, and sampled requests are logged with their trace',
  },
  MICROSERVICES_TRACING_RATE: {
    type: 'number',
    default: 1,
    min: 0,
    max: 1,
    summary: 'Fraction of traces that are sampled, decided from the trace id; a service can override it',
  },
  DATABASE_ISOLATION: {
    type: 'enum',
    default: 'shared',
    values: ['shared', 'isolated'],
    summary: 'Default for services that do not set `database.isolation`: the database of the app, or a separate one for each service',
  },
  SERVICE_API_KEY: {
    type: 'string',
    default: '',
    secret: true,
    summary: 'API key for services with the strategy `api-key`; at least 32 bytes in production',
  },
  SERVICE_JWT_SECRET: {
    type: 'string',
    default: '',
    secret: true,
    summary: 'HS256 secret for services with the strategy `jwt`; at least 32 bytes in production',
  },
  SERVICE_SIGNING_SECRET: {
    type: 'string',
    default: '',
    secret: true,
    summary: 'Secret from which the signing keys of services with the strategy `signed` are derived; at least 32 bytes in production',
  },
})
