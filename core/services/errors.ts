import { defineErrors } from '../errors.js'

/** Errors of services. */
export const serviceErrors = defineErrors({
  ZIN_SERVICE_DUPLICATE: {
    message: (plugin: string, service: string, other: string) => `${plugin}: service "${service}" is already provided by ${other}`,
    when: 'Two plugins provide the same service',
    fix: 'Enable one of them',
  },
  ZIN_SERVICE_MISSING: {
    message: (user: string, service: string) => `${user}: service "${service}" is not available; enable the plugin that provides it`,
    when: 'No enabled plugin provides the service that is used',
    fix: 'Enable the plugin that provides it',
  },
  ZIN_SERVICE_UNDECLARED: {
    message: (plugin: string, service: string) => `${plugin}: provides service "${service}" without listing it; add its ref to "provides"`,
    when: 'A plugin provides a service that its `provides` does not list',
    fix: 'Add the ref to `provides`',
  },
})
