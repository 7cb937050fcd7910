import { type FunctionComponent, h } from 'preact'
import type { ConsolePanel, ConsolePlace } from '../../contract.js'
import { additions } from '../additions.js'
import { useValue } from '../data/signal.js'
import { Guarded } from './guarded.js'
import { Card } from './layout.js'

/** The panels added to a page by plugins. */
export function Panels({ on, place }: { readonly on: ConsolePanel['on']; readonly place: ConsolePlace }) {
  const panels = useValue(additions).panels.filter((panel) => panel.on === on)
  return (
    <>
      {panels.map((panel) => (
        <Card key={panel.title} title={panel.title}>
          <Guarded>{h(panel.view as FunctionComponent<ConsolePlace>, place)}</Guarded>
        </Card>
      ))}
    </>
  )
}
