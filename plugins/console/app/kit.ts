import { type FunctionComponent, h } from 'preact'
import { useState } from 'preact/hooks'
import type { ConsoleKit, ConsoleNode, ConsoleView } from '../contract.js'
import { request } from './data/api.js'
import { useData } from './data/use-data.js'
import { bytes, count, duration, percent } from './format.js'
import { Badge } from './ui/badge.js'
import { ActionButton } from './ui/dialog.js'
import { Card, Page, Stat } from './ui/layout.js'
import { Link } from './ui/link.js'
import { Loaded } from './ui/states.js'
import { Table } from './ui/table.js'
import { Time } from './ui/time.js'

/** The kit passed to contributed modules: the components of the built-in pages. */
export const kit: ConsoleKit = {
  // biome-ignore lint/suspicious/noExplicitAny: attributes differ by element and component
  h: (type: string | ConsoleView<any>, props?: object | null, ...children: ConsoleNode[]) =>
    h(type as FunctionComponent, (props ?? null) as null, ...children),
  useState: (initial) => {
    const [value, set] = useState(initial)
    return [value, (next) => set(() => next)]
  },
  useData,
  send: (method, path, body) => request(method, path, body),
  Page,
  Card,
  Table,
  Badge,
  Stat,
  Time,
  Loaded,
  Link,
  ActionButton,
  format: { bytes, count, duration, percent },
}
