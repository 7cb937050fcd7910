import { defineMessage } from 'zin/plugins/cluster'

/** Sent when the canary of a worker changed; every node reads it. */
export const canaryChanged = defineMessage<{ readonly worker: string }>('canary.changed')

/** Sent on consecutive failures; the leader evaluates the canary of the worker immediately. */
export const canaryAlarm = defineMessage<{ readonly worker: string }>('canary.alarm')
