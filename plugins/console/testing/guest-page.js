// A page and a panel of a plugin, as its author would write them.
/** @type {import('../contract.js').ConsoleModule} */
export default (kit) => ({
  pages: [
    {
      path: '/guest',
      title: 'Guest',
      nav: { icon: 'page', key: 'u' },
      view: () => kit.h(kit.Page, { title: 'Guest' }, kit.h(kit.Card, null, kit.h('p', null, '<b>as text</b>'))),
    },
  ],
  panels: [{ on: 'queue', title: 'Guest panel', view: ({ params }) => kit.h('p', null, `beside ${params.name}`) }],
})
