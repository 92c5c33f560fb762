package vm

import (
	"fmt"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// look is after how many charges the clock is read.
const look = 16

// budget is what is left to a call.
type budget struct {
	// ended says why the call may not go on; nil while it may.
	ended   func() error
	begin   time.Time
	bytes   int
	charges int
	// spent is what the script is told from then on, whatever it catches.
	spent string
}

func (b *budget) renew(ended func() error) {
	//nolint:forbidigo // How long a script has run is not the time of anything else.
	*b = budget{ended: ended, begin: time.Now(), bytes: maxMemory}
}

// charge takes bytes from the budget and raises an error if it, or the time, is used up.
func (b *budget) charge(l *lua.LState, bytes int) {
	if b.bytes -= bytes; b.bytes < 0 && b.spent == "" {
		b.spent = fmt.Sprintf("the script uses too much memory; it may allocate %d MiB", maxMemory>>20)
	}
	if b.charges++; b.charges%look == 0 || b.spent != "" {
		b.watch(l)
	}
}

// watch raises an error if the budget or the time is used up. What takes long in Go calls
// it before.
func (b *budget) watch(l *lua.LState) {
	//nolint:forbidigo // As above.
	took := time.Since(b.begin)
	if b.spent == "" && took > maxTime && (b.charges > hardlyBegun || took > busyTime) {
		b.spent = fmt.Sprintf("the script takes too long; it may run for %v", maxTime)
	}
	if b.spent == "" && b.ended != nil {
		if err := b.ended(); err != nil {
			b.spent = "the script was stopped: " + err.Error()
		}
	}
	if b.spent != "" {
		l.RaiseError("%s", b.spent)
	}
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

// pass returns its argument.
func (b *budget) pass(l *lua.LState) int {
	b.charge(l, 0)
	return 1
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
