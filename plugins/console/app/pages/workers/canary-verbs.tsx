import type { CanaryView } from 'zin/plugins/canary'
import { can } from '../../data/session.js'
import { exact } from '../../format.js'
import { ActionButton } from '../../ui/dialog.js'
import { isLive } from './canary-words.js'
import { act, waiting } from './verbs.js'

/** What a person can decide about a canary, each with its consequence. */
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
            title: `Run ${exact(left)} jobs again on ${stable}?`,
            text: `They failed for good on ${version}, and get all their attempts again. What they did until they failed is done twice.`,
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
            title: `Pause the canary ${version}?`,
            text: 'It keeps its share of the jobs, and is still judged, until somebody resumes it.',
          }}
          run={run('pause')}
        />
      )}
      {state === 'PAUSED' && (
        <ActionButton
          label="Resume"
          confirm={{
            title: `Resume the canary ${version}?`,
            text: 'It goes on by itself; after a step that waits for a person, with the next step.',
          }}
          run={run('resume')}
        />
      )}
      {moves && next !== undefined && (
        <ActionButton
          label={`Promote to ${next} %`}
          confirm={{
            title: `Give ${version} ${next} % of the jobs now?`,
            text: `It does not wait for a verdict. The judge goes on, and rolls it back when it is worse.`,
          }}
          run={run('promote')}
        />
      )}
      {moves && (
        <ActionButton
          label="Complete"
          confirm={{
            title: `Give all jobs to ${version}?`,
            text: `Whatever the verdict is, ${version} becomes the active version on every node, and nothing is compared any more.`,
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
          text: `All jobs go to ${stable}, and ${version} is refused until somebody forces it.`,
        }}
        run={run('rollback', { ...waiting, reason: 'Rolled back in the console' })}
      />
    </div>
  )
}
