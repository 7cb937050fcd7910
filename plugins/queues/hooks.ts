import type { HookSpecs, Waterfall } from 'zin'

/** Hooks that the queues plugin fires: the store keeps what they return. */
export interface QueueHooks {
  transformJobData: Waterfall<unknown, [queue: string]>
  restoreJobData: Waterfall<unknown, [queue: string]>
  transformJobResult: Waterfall<unknown, [queue: string]>
  restoreJobResult: Waterfall<unknown, [queue: string]>
}

export const queueHooks = {
  transformJobData: {
    kind: 'waterfall',
    args: ['data', 'queue'],
    summary: 'The payload of a job before it is stored, e.g. to encrypt it',
  },
  restoreJobData: {
    kind: 'waterfall',
    args: ['data', 'queue'],
    summary: 'The payload of a job before the processor and the job hooks receive it',
  },
  transformJobResult: { kind: 'waterfall', args: ['result', 'queue'], summary: 'The result of a job before it is stored' },
  restoreJobResult: { kind: 'waterfall', args: ['result', 'queue'], summary: 'The result of a job before it is returned' },
} satisfies HookSpecs<QueueHooks>

declare module 'zin' {
  interface HookMap extends QueueHooks {}
}
