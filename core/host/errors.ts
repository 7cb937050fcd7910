import { defineErrors, messageOf } from '../errors.js'
import { suggest } from '../util/suggest.js'

/** The errors of the plugin host. A boot that fails lists them in a `BootError`. */
export const hostErrors = defineErrors({
  ZIN_BOOT_STOPPED: {
    message: () => 'the app was stopped while it was starting',
    when: 'The app was stopped before it had started',
    fix: 'Start it again',
  },
  ZIN_HOST_STATE: {
    message: (what: string, state: string) => `the host cannot ${what}: it is ${state}`,
    when: 'A host, or an app of `createApp`, is asked for what its state does not allow',
    fix: 'Start it once, use it, stop it; make a new one to start again',
  },
  ZIN_PLUGIN_ENABLE_FAILED: {
    message: (plugin: string, error: unknown) => `${plugin}: was not enabled: ${messageOf(error)}`,
    cause: (_plugin: string, error: unknown) => error,
    when: 'A plugin failed while it was enabled at run time; all is as it was before',
    fix: 'Remove the cause that the message names, and enable it again',
  },
  ZIN_PLUGIN_IN_USE: {
    status: 409,
    message: (plugin: string, why: string) => `${plugin}: cannot be disabled while ${why}`,
    when: 'A plugin is to be disabled that others need',
    fix: 'Disable those first',
  },
  ZIN_PLUGIN_SKIPPED: {
    message: (plugin: string, failed: string) => `${plugin}: skipped, because ${failed} failed`,
    when: 'A plugin that this one needs failed, and the app goes on without both',
    fix: 'Remove the cause of the other failure',
  },
  ZIN_PLUGIN_START_DENIED: {
    message: (by: string, reason: string) => `${by} refused the start: ${reason}`,
    when: 'A listener of `beforePluginStart` denied the start',
    fix: 'Do what its reason says',
  },
  ZIN_PLUGIN_STATE: {
    message: (plugin: string, from: string, to: string) => `${plugin}: is ${from} and cannot become ${to}`,
    when: 'A plugin would change its state in an order that makes no sense: an error of the host',
    fix: 'Report it with the steps that led to it',
  },
  ZIN_PLUGIN_STOP_FAILED: {
    message: (plugin: string, outcome: string, why: string) => `${plugin}: is disabled, but ${outcome} while stopping: ${why}`,
    when: 'A plugin was disabled and did not end well',
    fix: 'Look at the error that the message names; what it left open ends with the process',
  },
  ZIN_PLUGIN_UNKNOWN: {
    status: 404,
    message: (name: string, known: readonly string[]) => {
      const near = suggest(name, known)
      return `no plugin is named "${name}"; ${near === undefined ? `there are ${known.join(', ')}` : `did you mean "${near}"?`}`
    },
    when: 'A plugin is named that is not registered',
    fix: 'Use one of the names in the message',
  },
})
