import { defineErrors } from '../errors.js'

/** What is wrong with the services of plugins. */
export const serviceErrors = defineErrors({
  ZIN_SERVICE_DUPLICATE: {
    message: (plugin: string, service: string, other: string) => `${plugin}: service "${service}" is provided by ${other} already`,
    when: 'Two plugins provide one service',
    fix: 'Enable one of them',
  },
  ZIN_SERVICE_MISSING: {
    message: (user: string, service: string) => `${user}: service "${service}" is not there; enable the plugin that provides it`,
    when: 'A service is used that no enabled plugin provides',
    fix: 'Enable the plugin that provides it',
  },
  ZIN_SERVICE_UNDECLARED: {
    message: (plugin: string, service: string) => `${plugin}: provides service "${service}" without listing it; add its ref to "provides"`,
    when: 'A plugin provides a service that its `provides` does not list',
    fix: 'Add the ref to `provides`',
  },
})
