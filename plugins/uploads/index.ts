import type { BusboyConfig } from '@fastify/busboy'
import { definePlugin, importPackage } from 'zin'
import { uploadsErrors } from './errors.js'
import type { Detect } from './media-type.js'
import { uploadsOptions } from './options.js'
import { type Busboy, receiveForm, requireFiles } from './receive-form.js'
import { TemporaryFolder } from './temporary-folder.js'

export type { UploadsOptions } from './options.js'

/** Room for the boundaries and headers of the parts of a form, in bytes. */
const framingBytes = 1_048_576

/** Reads multipart forms as they arrive: files go to a temporary folder or a stream, within limits, checked by their content. */
export const uploads = definePlugin({
  name: 'uploads',
  version: '1.0.0',
  description: 'Uploads: multipart forms as they arrive, with limits, checked by content',
  packages: { '@fastify/busboy': {}, 'file-type': {} },
  errors: uploadsErrors,
  options: uploadsOptions,
  async setup(ctx) {
    const { options } = ctx
    const folder = new TemporaryFolder(options.folder)
    const [{ Busboy: Parser }, { fileTypeFromBuffer }] = await Promise.all([
      importPackage('@fastify/busboy', () => import('@fastify/busboy')),
      importPackage('file-type', () => import('file-type')),
    ])
    const open = (config: BusboyConfig): Busboy => new Parser(config)
    const detect: Detect = (bytes) => fileTypeFromBuffer(bytes)
    let receiving = 0
    ctx.formReader({
      limit: (files) => {
        const fields = Object.values(files ?? {})
        const most = fields.reduce((sum, { maxCount = 1, maxSize = options.maxFileSize }) => sum + maxCount * maxSize, 0)
        return (files === undefined ? options.maxFiles * options.maxFileSize : most) + options.maxFieldBytes + framingBytes
      },
      withoutFiles: (files) => requireFiles(files, () => false),
      read: async (request, form) => {
        if (receiving >= options.maxUploads) throw uploadsErrors.UPLOADS_EXHAUSTED(options.maxUploads)
        receiving++
        try {
          return await receiveForm(request, form, { options, folder, rootDir: ctx.host.app.rootDir, detect, open })
        } finally {
          receiving--
        }
      },
    })
    ctx.hooks.on('collectMetrics', () => [
      { name: 'zin_uploads_receiving', help: 'Forms that arrive at this process', type: 'gauge', value: receiving },
    ])
    ctx.onStop(() => folder.remove())
  },
})
