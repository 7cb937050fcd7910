import { defineConfig } from 'zin'
import { database, health } from 'zin/plugins'
import { notes } from './notes.js'

// The database connection is set in .env: DB_CONNECTION=edge-remote.
export default defineConfig({ plugins: [database(), health(), notes()] })
