// What an operator can do with a version of a worker. Pure.
import type { VersionView, WorkerView } from 'zin/plugins/workers'

/** A button in the row of a version. */
export interface VersionAct {
  readonly label: 'Activate' | 'Roll back' | 'Try again'
  /** The version that gets all jobs. */
  readonly to: string
}

type Acting = Pick<VersionView, 'version' | 'activatedAt' | 'state'> & {
  readonly refused?: Pick<NonNullable<VersionView['refused']>, 'by'>
}

/** Returns the acts of a version. A halted rollout is rolled back in the row of its version, to the version that goes on running. */
export function actsOf(
  { activatedAt, refused, state, version }: Acting,
  worker: Pick<WorkerView, 'version' | 'desiredVersion' | 'rollout'>,
): readonly VersionAct[] {
  if (worker.rollout?.state === 'halted') {
    const tryAgain = { label: 'Try again', to: version } as const
    if (version === worker.rollout.version)
      return worker.version === version ? [tryAgain] : [{ label: 'Roll back', to: worker.version }, tryAgain]
    if (version === worker.version) return []
  } else if (version === worker.desiredVersion && state !== 'refused') return []
  // A version whose rollout halted was activated, and never ran on all nodes.
  const hasRun = activatedAt !== null && refused?.by !== 'workers'
  return [{ label: hasRun ? 'Roll back' : 'Activate', to: version }]
}
