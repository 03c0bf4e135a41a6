! A caller of the library kinds, in Fortran. usage: kinds FOLDER M N shift off weight rule iterations... (-1 runs)
program caller
  use, intrinsic :: iso_c_binding
  use kinds
  implicit none
  type(c_ptr) :: h = c_null_ptr
  integer(c_int64_t) :: m, n, given, shape(2)
  integer(c_int8_t), allocatable :: cells(:, :), mask(:, :)
  integer(c_int32_t), allocatable :: count(:, :), births(:)
  real(c_float), allocatable :: f(:, :)
  real(c_double), allocatable :: d(:)
  real(c_float) :: total
  integer :: a, calls
  character(200) :: folder, word
  logical :: found
  logical(c_bool) :: off

  call get_command_argument(1, folder)
  m = whole(2)
  n = whole(3)
  call check(kinds_new(h))
  call get_command_argument(6, word)
  read (word, *) total
  call get_command_argument(5, word)
  off = word == 'true'
  call check(kinds_configure(h, m, n, off, int(whole(4), c_int32_t), total, &
      int(merge(whole(7) - 256, whole(7), whole(7) > 127), c_int8_t)))
  call check(kinds_shape(h, KINDS_GRID_cells, shape))
  if (shape(1) /= m .or. shape(2) /= n) error stop 'the shape is in the order of C'
  allocate (cells(n, m), mask(n, m), count(n, m), births(n), f(n, m), d(m + 1))
  given = KINDS_NONE_GIVEN
  open (10, file=trim(folder) // '/cells.in', access='stream', status='old')
  read (10) cells
  close (10)
  given = given + KINDS_GIVEN_cells
  inquire (file=trim(folder) // '/mask.in', exist=found)
  if (found) then
    open (10, file=trim(folder) // '/mask.in', access='stream', status='old')
    read (10) mask
    close (10)
    given = given + KINDS_GIVEN_mask
  end if
  inquire (file=trim(folder) // '/births.in', exist=found)
  if (found) then
    open (10, file=trim(folder) // '/births.in', access='stream', status='old')
    read (10) births
    close (10)
    given = given + KINDS_GIVEN_births
  end if
  call check(kinds_init(h, given, cells, mask, count, births, f, d))
  do a = 8, command_argument_count()
    calls = int(whole(a))
    if (calls < 0) then
      call check(kinds_run(h, cells, mask, count, births, f, d))
    else
      call check(kinds_iterate(h, int(calls, c_int64_t), cells, mask, count, births, f, d))
    end if
  end do
  open (10, file=trim(folder) // '/cells.out', access='stream', status='replace')
  write (10) cells
  close (10)
  open (10, file=trim(folder) // '/mask.out', access='stream', status='replace')
  write (10) mask
  close (10)
  open (10, file=trim(folder) // '/count.out', access='stream', status='replace')
  write (10) count
  close (10)
  open (10, file=trim(folder) // '/births.out', access='stream', status='replace')
  write (10) births
  close (10)
  open (10, file=trim(folder) // '/f.out', access='stream', status='replace')
  write (10) f
  close (10)
  open (10, file=trim(folder) // '/d.out', access='stream', status='replace')
  write (10) d
  close (10)
  call check(kinds_get_total(h, total))
  write (*, '(es16.8e3)') total
  if (kinds_iterate(h, -1_c_int64_t, cells, mask, count, births, f, d) /= KINDS_ERROR_VALUE) error stop 'not refused'
  if (kinds_detail(h) /= 'the number of iterations is -1') error stop 'another detail'
  if (kinds_text(KINDS_ERROR_VALUE) /= 'an argument is out of range') error stop 'another text'
  call check(kinds_exit(h))
  if (c_associated(h)) error stop 'exit leaves the handle'

contains

  function whole(argument) result(value)
    integer, intent(in) :: argument
    integer(c_int64_t) :: value
    call get_command_argument(argument, word)
    read (word, *) value
  end function

  subroutine check(status)
    integer(c_int), intent(in) :: status
    if (status == KINDS_OK) return
    write (0, *) kinds_text(status), ': ', kinds_detail(h)
    error stop
  end subroutine

end program
