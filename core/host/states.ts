import { StateMachine, type Transitions } from '../util/state-machine.js'
import { hostErrors } from './errors.js'

/** State of a plugin. */
export type PluginState = 'registered' | 'enabling' | 'enabled' | 'disabling' | 'failed'

/** The functions of a plugin that the host calls, in order. */
export type PluginPhase = 'setup' | 'start' | 'ready' | 'stop'

/** State of a host. */
export type HostState = 'created' | 'starting' | 'ready' | 'draining' | 'stopped'

const pluginTransitions: Transitions<PluginState> = {
  // Fails without a setup if it depends on a plugin that failed.
  registered: ['enabling', 'failed'],
  enabling: ['enabled', 'disabling'],
  enabled: ['disabling'],
  disabling: ['registered'],
  failed: ['enabling'],
}

const hostTransitions: Transitions<HostState> = {
  created: ['starting', 'draining'],
  // Directly to stopped: the boot failed, and nothing listens yet.
  starting: ['ready', 'draining', 'stopped'],
  ready: ['draining'],
  draining: ['stopped'],
  stopped: [],
}

export function pluginStates(plugin: string): StateMachine<PluginState> {
  return new StateMachine<PluginState>('registered', pluginTransitions, (from, to) => hostErrors.ZIN_PLUGIN_STATE(plugin, from, to))
}

export function hostStates(): StateMachine<HostState> {
  return new StateMachine<HostState>('created', hostTransitions, (from, to) => hostErrors.ZIN_HOST_STATE(`become ${to}`, from))
}
