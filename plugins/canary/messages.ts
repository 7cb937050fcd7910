import { defineMessage } from 'zin/plugins/cluster'

/** The canary of a worker changed: every node reads it. */
export const canaryChanged = defineMessage<{ readonly worker: string }>('canary.changed')

/** Failures in a row: the leader looks at the canary of a worker now. */
export const canaryAlarm = defineMessage<{ readonly worker: string }>('canary.alarm')
