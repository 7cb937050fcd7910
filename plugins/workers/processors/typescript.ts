import { importPackage } from 'zin'

/** Enables this process to import TypeScript, in ESM and CommonJS packages. Needed once. */
export async function enableTypescript(): Promise<void> {
  // Running from TypeScript sources: already enabled.
  if (import.meta.url.endsWith('.ts')) return
  const [esm, cjs] = await importPackage('tsx', () => Promise.all([import('tsx/esm/api'), import('tsx/cjs/api')]))
  esm.register()
  cjs.register()
}
