// Steps through a function and tells how deep its stack went: a listener that keeps its own state.
//
//   llmdbg examples/lowest-sp.js -- PROGRAM [ARG...]
breakpoint.set('*main', 'main')
cont()
const top = state.sp
addEventListener('step', e => {
  ctx.min_sp = Math.min(ctx.min_sp ?? e.state.sp, e.state.sp)
})
step(2000)
print(`${top - ctx.min_sp} bytes below main's entry`)
kill()
