import assert from 'node:assert/strict'
import { test } from 'node:test'
import { confirmLoss } from './confirm.js'
import { fakeTerminal } from './test-terminal.js'

const given = { appName: 'shop', loss: '--reset drops 2 tables', signal: new AbortController().signal }

test('on a terminal the user types the name of the app; anything else changes nothing', async () => {
  for (const typed of ['shop\r', ' shop \r']) {
    const dialog = fakeTerminal(['to continue', typed])
    await confirmLoss({ ...given, yes: false, dialog })
    assert.match(dialog.shown(), /--reset drops 2 tables\.[\s\S]*Type the name of the app, shop, to continue/)
  }
  for (const typed of ['\r', 'yes\r', 'shops\r', 'shop\u0003'])
    await assert.rejects(confirmLoss({ ...given, yes: false, dialog: fakeTerminal(['to continue', typed]) }), {
      code: 'ZIN_NOT_CONFIRMED',
      message: 'not confirmed; nothing was changed',
    })
})

test('without a terminal --yes is required', async () => {
  await assert.rejects(confirmLoss({ ...given, yes: false, dialog: undefined }), {
    code: 'ZIN_USAGE',
    message: '--reset drops 2 tables. Pass --yes to confirm; nothing was changed',
  })
  await confirmLoss({ ...given, yes: true, dialog: undefined })
})
