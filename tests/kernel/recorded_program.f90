! A ring, a wait for any source and two collectives, in Fortran.
program recorded_program
  use mpi
  implicit none
  integer :: rank, n, error, requests(2), k, right, left
  integer :: statuses(MPI_STATUS_SIZE, 2), status(MPI_STATUS_SIZE)
  double precision :: values(100), sums(100)
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, n, error)
  right = mod(rank + 1, n)
  left = mod(rank + n - 1, n)
  values = rank
  do k = 1, 8
    call MPI_Irecv(sums, 100, MPI_DOUBLE_PRECISION, left, 0, MPI_COMM_WORLD, requests(1), error)
    call MPI_Isend(values, 100, MPI_DOUBLE_PRECISION, right, 0, MPI_COMM_WORLD, requests(2), error)
    if (mod(k, 2) == 0) then
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
    else
      call MPI_Waitall(2, requests, statuses, error)
      if (statuses(MPI_SOURCE, 1) /= left) call MPI_Abort(MPI_COMM_WORLD, 1, error)
    end if
    call MPI_Allreduce(MPI_IN_PLACE, values, 10, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
  end do
  call MPI_Sendrecv(values, 3, MPI_DOUBLE_PRECISION, right, 1, sums, 3, MPI_DOUBLE_PRECISION, left, 1, &
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
  if (rank == 0) then
    do k = 1, n - 1
      call MPI_Recv(sums, 100, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, status, error)
    end do
  else
    call MPI_Send(values, rank, MPI_DOUBLE_PRECISION, 0, 2, MPI_COMM_WORLD, error)
  end if
  call MPI_Bcast(values, 5, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, error)
  call MPI_Finalize(error)
end program
