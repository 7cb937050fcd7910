import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'

/** Variables that the examples use without declaring them. */
export const exampleValues = ['origin', 'email', 'password', 'jwt', 'deviceId', 'deviceSecret'] as const
export const exampleTitles = ['In a page', 'With its own key', 'In Node, with any HTTP client', 'At the edge'] as const
export type ExampleTitle = (typeof exampleTitles)[number]

/** The example under a bold title in the section "Signing from a client" of the README. */
export function readmeExample(title: ExampleTitle): string {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
  const section = readme.split('### Signing from a client\n')[1]?.split(/^##+ /m)[0]
  const code = section?.split(`**${title}**`)[1]?.match(/```ts\n([\s\S]*?)```/)?.[1]
  assert.ok(code, `the README has no example "${title}"`)
  return code
}
