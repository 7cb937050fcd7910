import type { ComponentChildren } from 'preact'
import { duration } from '../../format.js'
import { Badge } from '../../ui/badge.js'
import { Card, Facts } from '../../ui/layout.js'
import { Link } from '../../ui/link.js'
import { bootMs, type PluginsResponse } from './types.js'

/** Details of a plugin: dependencies, services, hooks and routes. */
export function OnePlugin({ name, of: { hooks, plugins, routes } }: { readonly name: string; readonly of: PluginsResponse }) {
  const plugin = plugins.find((one) => one.name === name)
  if (plugin === undefined) return null
  const neededBy = plugins.filter(({ after }) => after.includes(name)).map((one) => one.name)
  const listens = hooks.filter(({ listeners }) => listeners.some((one) => one.plugin === name)).map((hook) => hook.name)
  const fires = hooks.filter(({ owner }) => owner === name).map((hook) => hook.name)
  const own = routes.filter((route) => route.plugin === name)
  return (
    <Card
      title={name}
      aside={
        <Link class="link" to="/plugins">
          Close
        </Link>
      }
    >
      <p>
        {plugin.description}
        {plugin.detail !== undefined && <span class="dim"> ({plugin.detail})</span>}
      </p>
      {plugin.error !== undefined && (
        <p>
          <Badge tone="bad">{plugin.error}</Badge>
        </p>
      )}
      <div class="wide-facts">
        <Facts
          of={[
            [
              'Version',
              <span key="version" class="mono">
                {plugin.version}
              </span>,
            ],
            ['Boot', `${duration(bootMs(plugin))} (${phases(plugin.timings)})`],
            ['Needs', <Names key="needs" names={plugin.after} />],
            ['Needed by', <Names key="by" names={neededBy} />],
            ['Provides', words(plugin.provides)],
            ['Fires', words(fires)],
            ['Listens to', words(listens)],
            [
              'Routes',
              own.length === 0 ? '–' : <Link key="routes" to={`/plugins?tab=routes&q=${encodeURIComponent(name)}`}>{`${own.length}`}</Link>,
            ],
          ]}
        />
      </div>
    </Card>
  )
}

function words(list: readonly string[]): ComponentChildren {
  return list.length === 0 ? '–' : list.join(', ')
}

function Names({ names }: { readonly names: readonly string[] }) {
  if (names.length === 0) return <>–</>
  return (
    <>
      {names.map((name, index) => (
        <span key={name}>
          {index > 0 && ', '}
          <Link to={`/plugins?plugin=${encodeURIComponent(name)}`}>{name}</Link>
        </span>
      ))}
    </>
  )
}

function phases(timings: PluginsResponse['plugins'][number]['timings']): string {
  return Object.entries(timings)
    .filter(([phase]) => phase !== 'stop')
    .map(([phase, ms]) => `${phase} ${duration(ms)}`)
    .join(', ')
}
