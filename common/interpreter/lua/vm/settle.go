package vm

import "github.com/yuin/gopher-lua/ast"

// first meters what a loop goes through. What is called there, and the object of a method, is
// no call, which gopher-lua does not get right in this place; it passes no charge, therefore,
// and the loop does: see block.
func (m *meter) first(e ast.Expr) ast.Expr {
	switch e := e.(type) {
	case *ast.FuncCallExpr:
		m.constant(e.Method)
		e.Func, e.Receiver = settled(m.first(e.Func)), settled(m.first(e.Receiver))
		m.exprs(e.Args)
		return e
	case *ast.AttrGetExpr:
		e.Object, e.Key = m.first(e.Object), m.expr(e.Key)
		return e
	default:
		return m.expr(e)
	}
}

// settle keeps gopher-lua from putting a function where a parameter is while the arguments
// of its call are read, which it does if one value of the call is assigned to the parameter.
func settle(s *ast.AssignStmt) {
	if call, ok := s.Rhs[0].(*ast.FuncCallExpr); ok && len(s.Lhs) == 1 && len(s.Rhs) == 1 {
		call.AdjustRet = false // others than the first are left out all the same
		return
	}
	for i := range s.Rhs {
		if i < len(s.Rhs)-1 || !several(s.Rhs[i]) {
			s.Rhs[i] = settled(s.Rhs[i])
		}
	}
}

// settled returns an expression that is no call and has the first value of one.
func settled(e ast.Expr) ast.Expr {
	if _, ok := e.(*ast.FuncCallExpr); !ok {
		return e
	}
	out := &ast.LogicalOpExpr{Operator: "or", Lhs: &ast.NilExpr{}, Rhs: e}
	out.Lhs.SetLine(e.Line())
	out.SetLine(e.Line())
	return out
}
