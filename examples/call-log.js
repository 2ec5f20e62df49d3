// Logs every call of a function with its first two integer arguments (System V ABI: rdi, rsi), without stopping.
//
//   llmdbg -e "ctx.name = 'work'" examples/call-log.js -- PROGRAM [ARG...]
breakpoint.set('*' + (ctx.name ?? 'work'), 'log')
addEventListener('breakpoint', e => {
  print(e.hits, hex(e.state.registers.rdi), hex(e.state.registers.rsi))
  return 'continue'
})
cont({timeout: 60000})
