import { gunzipSync } from 'node:zlib'

/** Files in gzip and base64. */
const packed = {
  'app.db':
    'H4sIAAAAAAACA+2Tv0oDQRDGZ/YkG5U0WiwSwSk9OIPBWpIo16VR0x933CYc3h/d20iutNSXsBPsfQNrn8EHsElnOr3bEwQbazU/2NmZnYFd+L' +
    '49OxlGWtI4U4mv6QAYMAZ9IoAyBbDgCyzXyrf6Jxh0rm5auACGIWCIz/APmSAXQuD1nvaDWKaZlrkJ7PjUHYxcGg2Ohi6ZI9qNQtJypulCRYmv' +
    'CjqXhUMpRamWE6kcUqSkHzukzZhDAQVxFjjkp4Vts4Y4FAhRGspZfhmXynr+VGem9swFXtdsla7N6m2tSiR8BHwpw5Jfgc14u8E3gafTJJAqB6' +
    'r/Y29R97ud/d68TndK6yFubfBxpHLN+dPD/O7+Ft6xv10PrBn9XwHfyrDkL7NutfHTMaxpiVVjiQ+DQQVdAAYAAA==',
  'app.db-wal':
    'H4sIAAAAAAACAzOvZ2ti0H0kwcDAxAAEjMeEGSrm3nnS43ta7ObkztPSDFAJmLjyzozlEVuOFfACxZgZ+xgY7zNuAVKjYECBCjO7OCO7Ip9oTm' +
    'JJatF/m3S+r25uV6Zn5imUZKQq5OSnV5SkVpRoMrFLs7ELM7DnleYmpRYVMyiANTPa/4CYYqhnYP8BwpRnBBrIKCnEnpZZVFzCzn545Yf5y7oY' +
    '/jM6yMAtZQZhWLpwCY9e+blS9hcXOF08ZGD8zviQ8fVozAw7wMkszghOZczczNKM0JTExMEszglOKujlRcfRtV0O/dHeoPKClTELWl4wVgKZo4' +
    'AmgJcVmMUZgCivNCeRIUmYhV0ews0vUSgtSdO1SPyfNPDlRUNB7reYmupbXOB0cRpSXlxmPD1aZgxZwM4sDCwPclh5meUZ4YmNhUB5AQAvwUFs' +
    'gAgAAA==',
}

/**
 * A SQLite file in WAL mode that libsql 0.5.29 wrote in a process that was killed: a table `notes` with two rows in the file, and three in the
 * write-ahead log, of which one has a text that is not UTF-8, and one a text with NUL.
 */
export function fileOfLibsql(): Readonly<Record<string, Buffer>> {
  return Object.fromEntries(Object.entries(packed).map(([name, text]) => [name, gunzipSync(Buffer.from(text, 'base64'))]))
}
