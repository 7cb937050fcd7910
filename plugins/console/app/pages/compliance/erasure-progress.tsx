import { useState } from 'preact/hooks'
import { useData } from '../../data/use-data.js'
import { plural } from '../../format.js'
import { setQuery } from '../../router.js'
import { Badge, type Tone } from '../../ui/badge.js'
import { Card } from '../../ui/layout.js'
import { Loaded } from '../../ui/states.js'
import { Time } from '../../ui/time.js'
import type { Erasure } from './types.js'

const pollMs = 1_000
const words: Readonly<Record<Erasure['state'], readonly [Tone, string]>> = {
  running: ['info', 'searching and erasing'],
  waiting: ['info', 'waiting for running jobs'],
  completed: ['ok', 'completed'],
  failed: ['bad', 'failed'],
}

/** The progress of an erasure, which continues without this page. */
export function ErasureProgress({ id }: { readonly id: string }) {
  const [ended, setEnded] = useState(false)
  const read = useData<{ erasure: Erasure }>(`/api/compliance/erasures/${encodeURIComponent(id)}`, ended ? {} : { refresh: pollMs })
  const state = read.data?.erasure.state
  if (!ended && (state === 'completed' || state === 'failed')) setEnded(true)
  const close = (
    <button type="button" class="button small" onClick={() => setQuery({ erasure: undefined })}>
      Close
    </button>
  )
  return (
    <Card title="Erasure" aside={close}>
      <Loaded from={read}>
        {({ erasure: { advice, elsewhere, erased, error, pending, requestedAt, state: now } }) => (
          <p role="status">
            <Badge tone={words[now][0]}>{words[now][1]}</Badge> {plural(erased, 'job')} and {plural(elsewhere, 'other record')} erased
            {pending > 0 && `; ${plural(pending, 'job')} still ${pending === 1 ? 'runs' : 'run'}`}
            {advice !== null && `. ${advice}`}
            {error !== null && `: ${error}`} <span class="dim mono">{id}</span>{' '}
            <span class="dim">
              (<Time at={requestedAt} />)
            </span>
          </p>
        )}
      </Loaded>
    </Card>
  )
}
