import { enableTypescript } from 'zin'

/** Enables this process to import the file, in an ESM or a CommonJS package. Needed once. */
export async function registerTypescript(file: string): Promise<void> {
  // Running from TypeScript sources: already enabled.
  if (!import.meta.url.endsWith('.ts')) await enableTypescript(file)
}
