package vm

import (
	"context"
	"fmt"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// look is after how many steps the clock is read.
const look = 128

// budget is the remaining time and memory of a call. It is the context that gopher-lua checks before each instruction.
type budget struct {
	limiter *Limiter
	// ended says why the call may not go on; nil while it may.
	ended func() error
	// large waits until it may allocate much.
	large func() (end func(), err error)
	begin time.Time
	cpu   time.Duration // of the thread when the call began
	bytes int
	steps int
	// exhausted is the error that every instruction gets once the budget is used up, even if the script catches it. Its text contains no
	// measured numbers: a condition that shows it would otherwise change with each failing call.
	exhausted string
	// exceeded says that it was the script which used too much, and not the caller who had it stopped.
	exceeded bool
	// ends are called when the call has ended.
	ends []func()
}

var _ context.Context = &budget{}

// renew begins a call. It waits until the script may run.
func (b *budget) renew(ctx context.Context, l *Limiter) error {
	end, err := l.begin(ctx)
	if err != nil {
		return err
	}
	*b = budget{
		limiter: l, ended: ctx.Err, large: func() (func(), error) { return l.large(ctx) },
		//nolint:forbidigo // How long a script has run is not the time of anything else.
		begin: time.Now(),
		cpu:   cpuTime(), bytes: l.memory, ends: []func(){end},
	}
	return nil
}

// end ends the call.
func (b *budget) end() {
	for _, end := range b.ends {
		end()
	}
	b.ends = nil
}

// Done implements context.Context. gopher-lua asks before every instruction.
func (b *budget) Done() <-chan struct{} {
	if b.steps++; b.steps%look == 0 {
		b.watch()
	}
	if b.exhausted != "" {
		return b.limiter.stopped
	}
	return nil
}

// Deadline implements context.Context.
func (b *budget) Deadline() (time.Time, bool) { return time.Time{}, false }

// Value implements context.Context.
func (b *budget) Value(any) any { return nil }

// Err implements context.Context.
func (b *budget) Err() error {
	if b.exhausted == "" {
		return nil
	}
	return &Error{Message: b.exhausted, exceeded: b.exceeded}
}

// charge takes bytes from the budget and raises an error if it, or the time, is used up.
func (b *budget) charge(l *lua.LState, bytes int) {
	b.bytes -= bytes
	switch {
	case b.exhausted != "":
	case b.bytes < 0:
		b.exhausted, b.exceeded = fmt.Sprintf("the script uses too much memory; it may allocate %d MiB", b.limiter.memory>>20), true
	case len(b.ends) == 1 && b.limiter.memory-b.bytes > b.limiter.memory/smallShare:
		b.grow()
	}
	if b.steps++; b.steps%look == 0 {
		b.watch()
	}
	b.check(l)
}

// grow waits until the script may allocate more than a small part. That is none of its time.
func (b *budget) grow() {
	//nolint:forbidigo // As above.
	from := time.Now()
	end, err := b.large()
	if err != nil {
		b.exhausted = "the script was stopped: " + err.Error()
		return
	}
	b.ends = append(b.ends, end)
	//nolint:forbidigo // As above.
	b.begin = b.begin.Add(time.Since(from))
}

// watch looks whether the time is used up.
func (b *budget) watch() {
	if b.exhausted != "" {
		return
	}
	//nolint:forbidigo // As above.
	took := time.Since(b.begin)
	if took > busyTime || took > b.limiter.time && (b.cpu == 0 || cpuTime()-b.cpu > b.limiter.time) {
		b.exhausted, b.exceeded = fmt.Sprintf("the script takes too long; it may run for %v", b.limiter.time), true
	} else if err := b.ended(); err != nil {
		b.exhausted = fmt.Sprintf("the script was stopped: %v", err)
	}
}

// check raises an error if the budget is spent.
func (b *budget) check(l *lua.LState) {
	if b.exhausted != "" {
		l.RaiseError("%s", b.exhausted)
	}
}

// slow comes before what takes long in Go.
func (b *budget) slow(l *lua.LState) {
	b.watch()
	b.check(l)
}

// text charges for a text of this length, which is made next.
func (b *budget) text(l *lua.LState, length int) {
	if length > maxText {
		l.RaiseError("a text of %d bytes is too long; at most %d are allowed", length, maxText)
	}
	b.charge(l, length+16)
}

// What the meter has scripts call; see metered.

// block is called where a block of statements begins, with what they allocate at most, and
// with the table of a function's arguments if it has one.
func (b *budget) block(l *lua.LState) int {
	cost := int(l.CheckNumber(1))
	if args, ok := l.Get(2).(*lua.LTable); ok {
		cost += args.Len() * valueCost
	}
	b.charge(l, cost)
	return 0
}

// many returns its arguments, which become those of a table.
func (b *budget) many(l *lua.LState) int {
	b.charge(l, l.GetTop()*valueCost)
	return l.GetTop()
}

// concat is the operator .. of two or more operands.
func (b *budget) concat(l *lua.LState) int {
	length := 0
	for i := 1; i <= l.GetTop(); i++ {
		v := l.Get(i)
		if !lua.LVCanConvToString(v) {
			l.RaiseError("attempt to concatenate a %s value", v.Type())
		}
		if s, ok := v.(lua.LString); ok {
			length += len(s)
		} else {
			length += 24 // a number
		}
	}
	b.text(l, length)
	joined := make([]byte, 0, length)
	for i := 1; i <= l.GetTop(); i++ {
		joined = append(joined, lua.LVAsString(l.Get(i))...)
	}
	l.Push(lua.LString(joined))
	return 1
}

// key is the index of an assignment: of this table, if it is known. A list is as long as
// its last index, so one far beyond its end costs what lies between.
func (b *budget) key(l *lua.LState) int {
	key := l.Get(1)
	b.charge(l, 0)
	if n, ok := key.(lua.LNumber); ok {
		length := 0
		if t, ok := l.Get(2).(*lua.LTable); ok {
			length = t.Len()
		}
		b.gap(l, float64(n), length)
	}
	l.Push(key)
	return 1
}

// gap charges for what lies between the end of a list and an index.
func (b *budget) gap(l *lua.LState, index float64, length int) {
	if beyond := index - float64(length); beyond > 64 && index < float64(lua.MaxArrayIndex) {
		b.charge(l, int(beyond)*valueCost)
	}
}
