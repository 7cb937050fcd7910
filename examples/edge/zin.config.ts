import { defineConfig } from 'zin'
import { database, health } from 'zin/plugins'
import { notes } from './notes.js'

// Where the database is, .env says: DB_CONNECTION=edge-remote.
export default defineConfig({ plugins: [database(), health(), notes()] })
