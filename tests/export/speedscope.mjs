// SPDX-License-Identifier: MIT
// Opens files with speedscope's own importer and prints what it found, as JSON: for each file its
// profiles, and for each profile its name, its unit and the total weight of each frame.
//
// Usage: node speedscope.mjs RELEASE FILE... with the folder of speedscope's built bundle. The bundle
// is a program for browsers: it is run up to where it would draw, in a world without a page.
import fs from 'node:fs'
import path from 'node:path'
import vm from 'node:vm'

function importer(release) {
  const name = fs.readdirSync(release).find((file) => /^speedscope-.*\.js$/.test(file))
  const bundle = fs.readFileSync(path.join(release, name), 'utf8')
  const load = bundle.match(
    /loadFileFromBase64:\((\w+),(\w+)\)=>\{this\.loadProfile\(\(\)=>([\w$]+)\(\1,\2\)\)\}/)
  const drawing = bundle.lastIndexOf('console.log(`speedscope v')
  if (!load || drawing < 0) throw new Error('this bundle of speedscope is not one that is known')
  const page = new Proxy(function () {}, {
    get: (_, key) => (key === Symbol.toPrimitive ? () => '' : page),
    set: () => true,
    apply: () => page,
    construct: () => page,
  })
  const quiet = { log() {}, info() {}, warn() {}, error() {} }
  const world = vm.createContext({
    TextDecoder, TextEncoder, Uint8Array, ArrayBuffer, URL, URLSearchParams, WebAssembly,
    atob, btoa, setTimeout, clearTimeout, performance, console: quiet, fetch() {},
    window: page, document: page, navigator: { userAgent: '' }, localStorage: page,
    location: { hash: '', protocol: 'file:', href: 'file:///' }, matchMedia: () => page,
    Element() {}, HTMLElement() {}, FileReader() {}, requestAnimationFrame() {},
  })
  world.self = world
  vm.runInContext(`${bundle.slice(0, drawing)}globalThis.open=${load[3]}})();`, world)
  return (file) => world.open(path.basename(file), fs.readFileSync(file).toString('base64'))
}

// Only the message: a stack would show the bundle, which is one line of half a megabyte.
process.on('uncaughtException', (error) => {
  console.error(`speedscope: ${error.message}`)
  process.exit(1)
})

const [release, ...files] = process.argv.slice(2)
const open = importer(release)
const found = {}
for (const file of files) {
  const group = await open(file)
  if (!group) throw new Error(`${file}: speedscope does not know the format`)
  found[path.basename(file)] = group.profiles.map((profile) => {
    const frames = {}
    profile.forEachFrame((frame) => { frames[frame.name] = frame.getTotalWeight() })
    return { name: profile.getName(), unit: profile.getWeightUnit(), frames }
  })
}
process.stdout.write(JSON.stringify(found))
