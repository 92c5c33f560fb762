package vm

import (
	lua "github.com/yuin/gopher-lua"
)

// text is the string library. Its functions accept texts up to a limit; functions that make long texts from short
// ones are missing, and patterns match in linear time.
func (s *sandbox) text() *lua.LTable {
	t := s.library(lua.StringLibName, "len")
	for _, name := range []string{"byte", "char", "lower", "reverse", "sub", "upper"} {
		s.limited(t, s.rawLibrary(lua.StringLibName), name)
	}
	for _, name := range []string{"dump", "gsub", "rep"} {
		s.refuse(t, name, "string."+name)
	}
	s.function(t, "format", s.format)
	s.function(t, "find", s.find)
	s.function(t, "match", s.match)
	s.function(t, "gmatch", s.gmatch)
	return s.readOnly(t, "string")
}

// limited installs a library function with its text arguments checked before the call and its results charged
// afterwards.
func (s *sandbox) limited(in, from *lua.LTable, name string) {
	f := s.rawFunction(from, name)
	s.function(in, name, func(l *lua.LState) int {
		length := texts(l, 1)
		s.budget.text(l, length)
		n := f.GFunction(l)
		if made := texts(l, l.GetTop()-n+1); made > length {
			s.budget.charge(l, made-length)
		}
		return n
	})
}

// texts returns the total length of the texts on the stack from an index on.
func texts(l *lua.LState, from int) int {
	length := 0
	for i := from; i <= l.GetTop(); i++ {
		if v, ok := l.Get(i).(lua.LString); ok {
			length += len(v)
		}
	}
	return length
}

// find is string.find.
func (s *sandbox) find(l *lua.LState) int {
	text, pat := l.CheckString(1), l.CheckString(2)
	start, ok := startOf(l, text)
	if !ok {
		l.Push(lua.LNil)
		return 1
	}
	var at []int
	if lua.LVAsBool(l.Get(4)) {
		s.budget.text(l, len(text))
		at = plainFind(text, pat, start)
	} else {
		at = s.pattern(l, pat, len(text)).find(text, start)
	}
	if at == nil {
		l.Push(lua.LNil)
		return 1
	}
	l.Push(lua.LNumber(at[0] + 1))
	l.Push(lua.LNumber(at[1]))
	return 2 + pushCaptures(l, text, at)
}

// match is string.match.
func (s *sandbox) match(l *lua.LState) int {
	text := l.CheckString(1)
	p := s.pattern(l, l.CheckString(2), len(text))
	start, ok := startOf(l, text)
	if !ok {
		l.Push(lua.LNil)
		return 1
	}
	at := p.find(text, start)
	if at == nil {
		l.Push(lua.LNil)
		return 1
	}
	return pushMatch(l, text, at)
}

// gmatch is string.gmatch.
func (s *sandbox) gmatch(l *lua.LState) int {
	text, pat := l.CheckString(1), l.CheckString(2)
	p := s.pattern(l, pat, len(text))
	next := 0
	l.Push(l.NewFunction(func(l *lua.LState) int {
		s.budget.charge(l, fieldCost)
		if next > len(text) {
			return 0
		}
		at := p.find(text, next)
		if at == nil {
			next = len(text) + 1
			return 0
		}
		if next = at[1]; at[0] == at[1] {
			next++ // advance after an empty match
		}
		if p.anchored {
			next = len(text) + 1
		}
		return pushMatch(l, text, at)
	}))
	return 1
}

// startOf returns where a search begins, from the third argument: counted from 1, or from the end if it is negative.
// It returns false if that is beyond the end.
func startOf(l *lua.LState, text string) (int, bool) {
	start := l.OptInt(3, 1)
	switch {
	case start > 0:
		start--
	case start < 0:
		start = max(len(text)+start, 0)
	}
	return start, start <= len(text)
}

// pushMatch pushes the captures of a match, or the whole match if there are none.
func pushMatch(l *lua.LState, text string, at []int) int {
	if n := pushCaptures(l, text, at); n > 0 {
		return n
	}
	l.Push(lua.LString(text[at[0]:at[1]]))
	return 1
}

// positionCapture marks a capture that is a position; see pattern.find.
const positionCapture = -2

func pushCaptures(l *lua.LState, text string, at []int) int {
	for i := 2; i < len(at); i += 2 {
		if at[i+1] == positionCapture {
			l.Push(lua.LNumber(at[i] + 1))
		} else {
			l.Push(lua.LString(text[at[i]:at[i+1]]))
		}
	}
	return len(at)/2 - 1
}
