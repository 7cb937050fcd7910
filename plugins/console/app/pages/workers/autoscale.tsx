import type { ScalingStatus } from 'zin/plugins/autoscale'
import { duration } from '../../format.js'
import { Facts } from '../../ui/layout.js'
import { Count, Time } from '../../ui/time.js'

/** The last decision of the autoscaler and its reason. */
export function Autoscale({ status }: { readonly status: ScalingStatus }) {
  const { at, backlog, current, desired, dryRun, queueAgeSeconds, reason, running, target } = status
  return (
    <div class="stacked">
      <p>{reason}</p>
      <Facts
        of={[
          ['Current', current],
          ['Target', target],
          ...(desired === target ? [] : [['Platform', desired] as const]),
          ['Running jobs', running === null ? 'unknown' : <Count key="running" value={running} />],
          ['Ready jobs', <Count key="ready" value={backlog} />],
          ['Oldest waiting', queueAgeSeconds === 0 ? '–' : duration(queueAgeSeconds * 1000)],
        ]}
      />
      <p class="dim">
        {dryRun && 'Dry run: no changes are made. '}Checked <Time at={at} />
      </p>
    </div>
  )
}
