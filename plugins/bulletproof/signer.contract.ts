import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { type ExampleTitle, readmeExample } from './testing/readme-example.js'
import { type SignerApp, startSignerApp } from './testing/signer-app.js'
import { type AppUnderTest, signerCases } from './testing/signer-client.js'

/** A runtime for `zin/signer`. */
export interface SignerRuntime {
  /** Runs `signerCases[index]`; rejects when it fails. */
  runCase(index: number, app: AppUnderTest): Promise<void>
  stop(): Promise<void>
}

/** Runs every case in a runtime against one app. `more` declares tests for this runtime only. */
export function describeSigner<R extends SignerRuntime>(
  name: string,
  start: (app: SignerApp) => Promise<R>,
  more?: (runtime: () => R, app: () => SignerApp) => void,
): void {
  describe(`zin/signer in ${name}`, () => {
    let app: SignerApp
    let runtime: R
    before(async () => {
      app = await startSignerApp()
      runtime = await start(app)
    })
    after(async () => {
      await runtime?.stop()
      await app.host.stop()
    })
    for (const [index, { title }] of signerCases.entries())
      it(title, () => runtime.runCase(index, { url: app.url, email: app.email, password: app.password }))
    more?.(
      () => runtime,
      () => app,
    )
  })
}

const root = fileURLToPath(new URL('../..', import.meta.url))
export const casesModule = `import { signerCases } from './plugins/bulletproof/testing/signer-client.ts'\n`

/** Bundles the text of a module, which may import `zin/signer` and paths from the root of the repository. */
export async function bundle(text: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: text, resolveDir: root, loader: 'ts' },
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'neutral',
    target: 'es2022',
  })
  return outputFiles[0]?.text ?? ''
}

/**
 * Returns the URL of a module made from an example of the README, which exports the example's variable `result` under that name. `values`
 * provides the variables that the example does not declare.
 */
export async function exampleUrl(title: ExampleTitle, result: string, values: Readonly<Record<string, string>>): Promise<string> {
  const given = Object.entries(values).map(([name, value]) => `const ${name} = ${JSON.stringify(value)}\n`)
  const script = await bundle(`${given.join('')}${readmeExample(title)}\nexport { ${result} as result }`)
  return `data:text/javascript,${encodeURIComponent(script)}`
}
