import type { CanaryView } from 'zin/plugins/canary'
import { can } from '../../data/session.js'
import { exact, plural } from '../../format.js'
import { ActionButton } from '../../ui/dialog.js'
import { isLive } from './canary-words.js'
import { act, waiting } from './verbs.js'

/** The operator's actions on a canary, each with its consequences. */
export function CanaryVerbs({ canary, done }: { readonly canary: CanaryView; readonly done: () => void }) {
  if (!can('operate')) return null
  const { casualties, state, step, steps, worker } = canary
  const { version } = canary.canary
  const stable = canary.stable.version
  const run =
    (verb: string, query: Readonly<Record<string, string>> = waiting) =>
    () =>
      act(worker, `canary/${verb}`, undefined, query).finally(done)
  const next = steps[step]?.trafficPercentage
  const left = casualties.recorded - casualties.replayed
  if (!isLive(canary)) {
    return left === 0 || state !== 'ROLLED_BACK' ? null : (
      <div class="page-actions">
        <ActionButton
          label={`Replay ${exact(left)} on ${stable}`}
          confirm={{
            title: `Replay ${plural(left, 'job')} on ${stable}?`,
            text: `They failed permanently on ${version} and run again with all their attempts. Side effects from before the failure happen twice.`,
          }}
          run={run('replay', {})}
        />
      </div>
    )
  }
  const moves = state === 'RUNNING' || state === 'PAUSED'
  return (
    <div class="page-actions">
      {state === 'RUNNING' && (
        <ActionButton
          label="Pause"
          confirm={{
            title: `Pause canary ${version}?`,
            text: 'It keeps its share of the jobs and is still evaluated, but takes no further steps until it is resumed.',
          }}
          run={run('pause')}
        />
      )}
      {state === 'PAUSED' && (
        <ActionButton
          label="Resume"
          confirm={{
            title: `Resume canary ${version}?`,
            text: 'It continues automatically. If it was waiting for approval after a step, it moves to the next step.',
          }}
          run={run('resume')}
        />
      )}
      {moves && next !== undefined && (
        <ActionButton
          label={`Promote to ${next} %`}
          confirm={{
            title: `Give ${version} ${next} % of the jobs now?`,
            text: `This does not wait for a verdict. Evaluation continues, and the canary is rolled back if it is worse.`,
          }}
          run={run('promote')}
        />
      )}
      {moves && (
        <ActionButton
          label="Complete"
          confirm={{
            title: `Give all jobs to ${version}?`,
            text: `Regardless of the verdict, ${version} becomes the active version on every node, and the comparison ends.`,
            typed: version,
          }}
          run={run('complete')}
        />
      )}
      <ActionButton
        label="Roll back"
        tone="bad"
        confirm={{
          title: `Roll back ${version}?`,
          text: `All jobs go to ${stable}, and ${version} cannot be activated again unless it is forced.`,
        }}
        run={run('rollback', { ...waiting, reason: 'Rolled back in the console' })}
      />
    </div>
  )
}
