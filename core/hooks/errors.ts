import { defineErrors } from '../errors.js'

/** Errors of hooks and their listeners. */
export const hookErrors = defineErrors({
  ZIN_HOOK_FAILED: {
    status: 500,
    message: (plugin: string, hook: string, cause: Error) => `${plugin}: its listener for hook "${hook}" failed: ${cause.message}`,
    details: (plugin: string, hook: string) => ({ plugin, hook }),
    cause: (_plugin: string, _hook: string, cause: Error) => cause,
    when: 'A listener threw an error',
    fix: 'Correct the listener; the cause is in the log',
  },
  ZIN_HOOK_TIMEOUT: {
    status: 503,
    message: (plugin: string, hook: string, timeoutMs: number) =>
      `${plugin}: its listener for hook "${hook}" did not finish within ${timeoutMs} ms; make it faster or give it a longer timeoutMs`,
    details: (plugin: string, hook: string, timeoutMs: number) => ({ plugin, hook, timeoutMs }),
    when: 'A listener did not finish within its `timeoutMs`',
    fix: 'Make it faster or give it a longer `timeoutMs`',
  },
  ZIN_HOOK_LISTENER: {
    message: (plugin: string, hook: string, what: string) => `${plugin}: its listener for hook "${hook}" ${what}`,
    when: 'A listener is not a function, or its options are invalid',
    fix: 'Correct what the message names',
  },
  ZIN_HOOK_UNKNOWN: {
    message: (hook: string, hint: string) => `No enabled plugin declares hook "${hook}"; ${hint}`,
    when: 'No enabled plugin declares the hook that is fired',
    fix: 'List it in the `hooks` of the plugin that fires it',
  },
  ZIN_HOOK_DUPLICATE: {
    message: (owner: string, hook: string, other: string) =>
      `${owner}: declares hook "${hook}", which ${other} already declares; rename one of them`,
    when: 'Two plugins declare the same hook',
    fix: 'Rename one of them',
  },
  ZIN_HOOK_KIND: {
    message: (owner: string, hook: string, what: string) => `${owner}: declares hook "${hook}" ${what}`,
    when: 'The kind of a hook is unknown, or differs from that of an earlier declaration',
    fix: 'Use one of the six kinds, or a different name',
  },
  ZIN_HOOK_TIMEOUT_MS: {
    message: (owner: string, hook: string, given: number, most: number) =>
      `${owner}: declares hook "${hook}" with timeoutMs ${given}; use 1 to ${most}`,
    when: 'The `timeoutMs` of a hook is out of range',
    fix: 'Use a number of ms within the range in the message',
  },
  ZIN_HOOK_ARGS: {
    message: (owner: string, hook: string, given: number, most: number) =>
      `${owner}: declares notify hook "${hook}" with ${given} arguments; use at most ${most} and make the last one an object`,
    when: 'A notify hook has too many arguments',
    fix: 'Make the last argument an object',
  },
  ACTION_DENIED: {
    status: 409,
    message: (action: string, target: string, plugin: string, reason: string) =>
      `"${action}" of ${target} was denied by ${plugin}: ${reason}`,
    details: (action: string, target: string, plugin: string) => ({ action, target, plugin }),
    when: 'A listener of `beforeManagementAction` denied the action',
    fix: 'Follow the reason in the message',
  },
})
