// Part of the build: bundles the console to `dist/console`, with a content hash in each file name, and compresses it. Fails if script and
// style together are too large.
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, extname, join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { build } from 'esbuild'

const outdir = 'dist/console'
const source = 'plugins/console/app'
/** Limit of all scripts and styles, in bytes after gzip. */
const mostBytes = 120_000
const types: Readonly<Record<string, string>> = { '.js': 'text/javascript; charset=utf-8', '.css': 'text/css; charset=utf-8' }

rmSync(outdir, { recursive: true, force: true })
mkdirSync(outdir, { recursive: true })
const { outputFiles, metafile } = await build({
  entryPoints: [join(source, 'main.tsx'), join(source, 'style.css')],
  outdir,
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'browser',
  target: 'es2022',
  minify: true,
  legalComments: 'none',
  entryNames: '[name]-[hash]',
  chunkNames: '[name]-[hash]',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  tsconfig: join(source, 'tsconfig.json'),
  define: { 'process.env.NODE_ENV': '"production"' },
  external: [],
  metafile: true,
  write: false,
  logLevel: 'error',
})

let gzipped = 0
const files: Record<string, string> = {}
for (const { contents, path } of outputFiles) {
  const name = basename(path)
  const compressed = gzipSync(contents, { level: 9 })
  gzipped += compressed.length
  files[name] = types[extname(name)] ?? 'application/octet-stream'
  writeFileSync(join(outdir, name), contents)
  writeFileSync(join(outdir, `${name}.gz`), compressed)
  writeFileSync(join(outdir, `${name}.br`), brotliCompressSync(contents, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }))
}

const outputOf = (entry: string): string => {
  const found = Object.entries(metafile.outputs).find(([, output]) => output.entryPoint === `${source}/${entry}`)
  if (found === undefined) throw new Error(`esbuild produced no output for ${entry}`)
  return basename(found[0])
}
writeFileSync(join(outdir, 'manifest.json'), JSON.stringify({ script: outputOf('main.tsx'), style: outputOf('style.css'), files }))
for (const [name, file] of [
  ['preact', 'LICENSE'],
  ['uplot', 'LICENSE'],
] as const)
  copyFileSync(`node_modules/${name}/${file}`, `${outdir}/${name}.license`)

const first = [outputOf('main.tsx'), outputOf('style.css')].reduce((sum, name) => sum + readFileSync(join(outdir, `${name}.gz`)).length, 0)
console.log(`console: ${gzipped} bytes of script and style after gzip, ${first} of them on the first load`)
if (gzipped > mostBytes) {
  console.error(`The console is ${gzipped} bytes after gzip; the limit is ${mostBytes}. Make it smaller`)
  process.exitCode = 1
}
